//! vestibule-http
