//! Calendars, as docs/model-format.md has them, day by day.

use ncde_runtime::Calendar;

const DAY: f64 = 86_400.0;

/// Year, month from 1 and day of each day from 1970-01-01 on.
fn days(count: usize) -> Vec<[i64; 3]> {
    let (mut all, mut year, mut month, mut day) = (Vec::new(), 1970, 1, 1);
    for _ in 0..count {
        all.push([year, month, day]);
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
        day += 1;
        if day > length {
            (day, month) = (1, month + 1);
        }
        if month > 12 {
            (month, year) = (1, year + 1);
        }
    }
    all
}

#[test]
fn calendars_are_those_of_a_second_reader() {
    let days = days(60_000);
    let is_last = |d: usize| days[d + 1][2] == 1;
    for d in (3..40_000).step_by(17) {
        let time = d as f64 * DAY + 3600.5;
        for (n, k) in [(1, 1), (1, 7), (3, 2), (12, 4)] {
            let month = days[d][1] - 1 + 12 * days[d][0] + n * k;
            let of_month: Vec<usize> = (d..d + 2000).filter(|&e| 12 * days[e][0] + days[e][1] - 1 == month).collect();
            let wanted = of_month.iter().copied().rfind(|&e| days[e][2] <= days[d][2]).unwrap();
            assert_eq!(Calendar::Months(n as u32).later(time, k as usize), wanted as f64 * DAY + 3600.5);
            let wanted = of_month.iter().copied().find(|&e| is_last(e)).unwrap();
            assert_eq!(Calendar::MonthEnds(n as u32).later(time, k as usize), wanted as f64 * DAY + 3600.5);
        }
        // 1970-01-01 is a Thursday.
        let works = |e: usize| (e + 3) % 7 < 5;
        if works(d) {
            for k in [1, 4, 9] {
                let wanted = (d + 1..).filter(|&e| works(e)).nth(k - 1).unwrap();
                assert_eq!(Calendar::Weekdays.later(time, k), wanted as f64 * DAY + 3600.5);
                assert_eq!(Calendar::Weekdays.slot(wanted as f64 * DAY) - Calendar::Weekdays.slot(time), k as i64);
            }
        }
    }
}
