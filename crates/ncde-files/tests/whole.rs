//! A file is there whole, or as it was.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::fs;
use std::io::Write;

use ncde_files::{LOCK, Lock, Whole, check_plain, read_plain, write_whole};

fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_not_finished_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    write_whole(&path, b"old").unwrap();
    let mut file = Whole::create(&path).unwrap();
    file.write_all(b"half").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    drop(file);
    assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"old".to_vec(), vec!["a.txt".to_owned()]));
    let mut file = Whole::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    file.finish().unwrap();
    assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"new".to_vec(), vec!["a.txt".to_owned()]));
}

#[test]
fn targets_that_cannot_be_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("inner")).unwrap();
    for target in ["inner", "nowhere/a.txt"] {
        assert!(Whole::create(folder.path().join(target)).is_err(), "{target}");
    }
    let path = folder.path().join("kept.txt");
    fs::write(&path, "kept").unwrap();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    assert!(write_whole(&path, b"lost").is_err());
    assert_eq!((fs::read(&path).unwrap(), names(folder.path()).len()), (b"kept".to_vec(), 2));
}

#[test]
fn a_lock_is_held_once_and_goes_with_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let lock = Lock::take(folder.path()).unwrap();
    assert!(lock.is_some() && Lock::take(folder.path()).unwrap().is_none());
    drop(lock);
    assert!(folder.path().join(LOCK).exists() && Lock::take(folder.path()).unwrap().is_some());
    assert!(Lock::take(folder.path().join("nowhere")).is_err());
}

#[test]
fn who_waits_for_a_lock_gets_it_when_it_is_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("claim");
    let held = Lock::on(&path).unwrap();
    assert!(held.is_some() && Lock::on(&path).unwrap().is_none());
    let (send, receive) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let lock = Lock::wait_on(&path).unwrap();
        send.send(()).unwrap();
        lock
    });
    assert!(receive.recv_timeout(std::time::Duration::from_millis(100)).is_err(), "it did not wait");
    drop(held);
    receive.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
    let lock = waiting.join().unwrap();
    assert!(Lock::on(folder.path().join("claim")).unwrap().is_none());
    drop(lock);
    assert!(Lock::on(folder.path().join("claim")).unwrap().is_some());
}

#[test]
fn folders_are_no_files() {
    let folder = tempfile::tempdir().unwrap();
    assert!(read_plain(folder.path()).unwrap_err().to_string().contains("a folder"));
    assert!(check_plain(folder.path().join("nothing")).is_err());
}

#[cfg(unix)]
#[test]
fn devices_are_no_files_and_are_not_replaced() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let device = std::path::Path::new("/dev/zero");
    assert!(read_plain(device).unwrap_err().to_string().contains("a device"));
    write_whole("/dev/null", b"gone").unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    // A link stays a link.
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    fs::write(&target, "old").unwrap();
    symlink(&target, &link).unwrap();
    write_whole(&link, b"new").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(target).unwrap(), b"new");
}
