//! vestibule-store-redis
