//! vestibule
