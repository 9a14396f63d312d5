//! The address of an order: that of the form, with the job ID in the query.

use vestibule_core::jobs::JobId;

/// Query parameter with the ID of an order.
const JOB_PARAMETER: &str = "vestibule_job";

/// The job ID in a query.
pub(super) fn job_of_query(query: Option<&str>) -> Option<JobId> {
    query?.split('&').find_map(|pair| pair.strip_prefix(JOB_PARAMETER)?.strip_prefix('=')?.parse().ok())
}

/// Path and query without a job ID.
pub(super) fn without_job(path: &str, query: Option<&str>) -> String {
    let is_job = |pair: &&str| pair.split('=').next() == Some(JOB_PARAMETER);
    match query {
        // A query without a job ID stays as it is, byte for byte.
        Some(query) if query.split('&').any(|pair| is_job(&pair)) => {
            let kept: Vec<&str> = query.split('&').filter(|pair| !is_job(pair)).collect();
            if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
        }
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    }
}

/// The address of the form, for links. A path that begins with two slashes or backslashes would be another host.
pub(super) fn form_url(path: &str, query: Option<&str>) -> String {
    without_job(&format!("/{}", path.trim_start_matches(['/', '\\'])), query)
}

/// The address of the form with the ID of an order, for links and redirects.
pub(super) fn with_job(path: &str, query: Option<&str>, job: JobId) -> String {
    let plain = form_url(path, query);
    let mark = if plain.contains('?') { '&' } else { '?' };
    format!("{plain}{mark}{JOB_PARAMETER}={job}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_is_added_and_removed() {
        let job = JobId::from_bytes([7; JobId::SIZE]);
        for (query, plain) in
            [(None, "/a"), (Some("b=%20&c"), "/a?b=%20&c"), (Some("vestibule_jobs=1"), "/a?vestibule_jobs=1")]
        {
            let with = with_job("/a", query, job);
            let (path, query) = with.split_once('?').unwrap();
            assert_eq!(job_of_query(Some(query)), Some(job), "{with}");
            assert_eq!(without_job(path, Some(query)), plain);
            assert_eq!(with_job(path, Some(query), job), with, "there is one job");
        }
        for path in ["/a", "//a", "///a", "/\\a", "/\\/a", "\\/a"] {
            assert_eq!(form_url(path, Some("b")), "/a?b", "{path}");
            assert_eq!(with_job(path, Some("b"), job), format!("/a?b&vestibule_job={job}"), "{path}");
        }
        assert_eq!(without_job("//a", None), "//a", "the origin gets the path as it was sent");
        for query in [None, Some(""), Some("vestibule_job"), Some("vestibule_job=x"), Some("x=vestibule_job=")] {
            assert_eq!(job_of_query(query), None, "{query:?}");
        }
    }
}
