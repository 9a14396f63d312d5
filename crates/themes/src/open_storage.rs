//! Opens the storage at an address.

use std::sync::Arc;

use crate::address::ThemesAddress;
#[cfg(feature = "s3")]
use crate::bucket::Bucket;
use crate::folder::Folder;
use crate::storage::Storage;

/// The storage at this address. The AWS environment configures access to a bucket; no request is sent yet.
pub(crate) fn storage_at(address: ThemesAddress) -> Arc<dyn Storage> {
    match address {
        ThemesAddress::Folder(folder) => Arc::new(Folder::new(&folder)),
        #[cfg(feature = "s3")]
        ThemesAddress::Bucket(address) => Arc::new(Bucket::new(address, None)),
    }
}
