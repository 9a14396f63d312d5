//! vestibule-themes
