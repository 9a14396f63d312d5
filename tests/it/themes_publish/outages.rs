//! Whoever publishes is gone in the middle of it, or the place is.

use vestibule_tests::S3;
use vestibule_themes::{ThemeVersions, ThemesAddress, VersionError};

use super::{Place, acme, at, draft, files, saying};

#[tokio::test]
async fn abandoned_lock_expires_after_two_minutes() {
    let place = Place::bucket().await;
    let publisher = place.publisher();
    let first = publisher.publish(&acme(), &draft(saying("first")).await, "anna", at(1)).await.unwrap();
    let claimed = format!("{{\"version\":\"{}\",\"locked_until\":{}}}", first.id, at(130).0);
    place.write(".versions/acme/.live", &claimed).await;
    let second = draft(saying("second")).await;
    let busy = publisher.publish(&acme(), &second, "ben", at(129)).await;
    assert!(matches!(busy, Err(VersionError::Busy)), "{busy:?}");
    assert!(publisher.versions(&acme()).await.unwrap()[0].live, "the first is still live");
    publisher.publish(&acme(), &second, "ben", at(130)).await.unwrap();
    assert_eq!(publisher.live(&acme()).await.unwrap(), Some(saying("second")));
}

#[tokio::test]
async fn unreachable_bucket_publishes_nothing() {
    let mut s3 = S3::start().await;
    let publisher = ThemeVersions::on_server(s3.server(), s3.themes("themes").parse().unwrap());
    s3.kill();
    let refused = publisher.publish(&acme(), &draft(saying("first")).await, "anna", at(1)).await;
    assert!(matches!(refused, Err(VersionError::Unavailable(_))), "{refused:?}");
    s3.restart().await;
    assert_eq!(publisher.live(&acme()).await.unwrap(), None);
    publisher.publish(&acme(), &draft(saying("first")).await, "anna", at(2)).await.unwrap();
}

#[tokio::test]
async fn read_only_folder_is_reported_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("themes");
    std::fs::write(&file, "no folder").unwrap();
    let publisher = ThemeVersions::at(ThemesAddress::Folder(file));
    let refused = publisher.publish(&acme(), &draft(saying("first")).await, "anna", at(1)).await.unwrap_err();
    assert!(refused.to_string().contains("themes/.versions/acme"), "{refused}");
    assert!(publisher.versions(&acme()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_link_to_a_theme_is_replaced_and_not_followed() {
    let place = Place::folder();
    let Place::Folder(folder) = &place else { unreachable!() };
    place.write("elsewhere/queue.html", "linked.{{ script_tags }}").await;
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), folder.path().join("acme")).unwrap();
    let publisher = place.publisher();
    publisher.publish(&acme(), &draft(saying("first")).await, "anna", at(1)).await.unwrap();
    assert_eq!(publisher.live(&acme()).await.unwrap(), Some(saying("first")));
    let untouched = publisher.live(&"elsewhere".parse().unwrap()).await.unwrap();
    assert_eq!(untouched, Some(files([("queue.html", "linked.{{ script_tags }}")])));
}
