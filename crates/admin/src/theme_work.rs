//! What requests about themes share in a process: the files of recent previews, and limits on work that takes a core or much
//! memory.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use vestibule_core::QueueId;
use vestibule_themes::{Draft, ThemeFiles};

use crate::problem::Problem;

/// Most previews whose files are cached.
const KEPT_MAX: usize = 8;
/// Drafts that are validated or rendered at the same time; others wait. Each takes a core.
const RENDERS_MAX: usize = 2;
/// Uploads that are unpacked at the same time. Each takes as much memory as a theme.
const UNPACKING_MAX: usize = 2;

/// What requests about themes share.
pub(crate) struct ThemeWork {
    pub(crate) previews: PreviewCache,
    /// Permits to validate and render a draft.
    pub(crate) renders: Semaphore,
    /// Permits to unpack an upload.
    pub(crate) unpacking: Semaphore,
}

impl ThemeWork {
    /// Validates files for these queues, as soon as there is a free core for it.
    pub(crate) async fn checked(&self, files: ThemeFiles, queues: Vec<QueueId>) -> Result<Draft, Problem> {
        // The semaphore is never closed.
        let _permit = self.renders.acquire().await;
        Draft::check_for(files, queues).await.map_err(|faults| Problem::theme_invalid(&faults))
    }
}

impl Default for ThemeWork {
    fn default() -> Self {
        Self {
            previews: PreviewCache::default(),
            renders: Semaphore::new(RENDERS_MAX),
            unpacking: Semaphore::new(UNPACKING_MAX),
        }
    }
}

/// Previews whose files are cached, the newest last, by the hash of their token.
#[derive(Default)]
pub(crate) struct PreviewCache(Mutex<VecDeque<(String, Arc<Draft>)>>);

impl PreviewCache {
    pub(crate) fn keep(&self, id: String, draft: Arc<Draft>) {
        let mut kept = self.0.lock();
        if kept.len() == KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back((id, draft));
    }

    /// The draft of a preview with these files, which need not be validated again.
    pub(crate) fn of_files(&self, files: &ThemeFiles) -> Option<Arc<Draft>> {
        let kept = self.0.lock();
        kept.iter().find(|(_, draft)| draft.files() == files).map(|(_, draft)| Arc::clone(draft))
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Draft>> {
        let kept = self.0.lock();
        kept.iter().find(|(kept, _)| kept == id).map(|(_, draft)| Arc::clone(draft))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn two_themes_are_validated_at_the_same_time() {
        let work = ThemeWork::default();
        let is_checked = async |within: Duration| {
            tokio::time::timeout(within, work.checked(ThemeFiles::new(), Vec::new())).await.is_ok()
        };
        let one = work.renders.acquire().await;
        assert!(is_checked(Duration::from_secs(10)).await);
        let other = work.renders.acquire().await;
        assert!(!is_checked(Duration::from_millis(50)).await, "it waits");
        drop((one, other));
        assert!(is_checked(Duration::from_secs(10)).await);
    }
}
