//! vestibule-purge
