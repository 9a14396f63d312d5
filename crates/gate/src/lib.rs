//! vestibule-gate
