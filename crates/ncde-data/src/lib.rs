//! Time-series files in, cases with channels, times, gaps and labels out.
