use std::collections::{BTreeMap, BTreeSet};

/// One sample of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its name, with `_bucket`, `_sum` or `_count` behind a histogram's.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its value.
    pub value: f64,
}

/// A sample as a test writes it: `sample("up", &[("job", "gate")], 1.0)`.
pub fn sample(name: &str, labels: &[(&str, &str)], value: f64) -> Sample {
    let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Sample { name: name.to_owned(), labels, value }
}

/// A text in the format of Prometheus, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Exposition {
    /// All samples, in their order.
    pub samples: Vec<Sample>,
    /// The type of each metric.
    pub types: BTreeMap<String, String>,
    /// The help of each metric.
    pub help: BTreeMap<String, String>,
}

impl Exposition {
    /// Reads a text; fails the test at a line that is none, at a metric without help or type, and at a series that comes
    /// twice. Label values with a `,` or an escape are not read: nothing of ours has them.
    pub fn of(text: &str) -> Self {
        let mut read = Self::default();
        let mut series = BTreeSet::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                read.note(rest, |read| &mut read.help);
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                read.note(rest, |read| &mut read.types);
            } else {
                let sample = sample_of(line).unwrap_or_else(|| panic!("no sample: {line}"));
                assert!(series.insert((sample.name.clone(), sample.labels.clone())), "twice: {line}");
                read.samples.push(sample);
            }
        }
        assert!(read.types.keys().eq(read.help.keys()), "{:?} {:?}", read.types, read.help);
        for sample in &read.samples {
            assert!(read.types.contains_key(read.metric_of(&sample.name)), "no type: {sample:?}");
        }
        read
    }

    fn note(&mut self, rest: &str, into: impl Fn(&mut Self) -> &mut BTreeMap<String, String>) {
        let (name, what) = rest.split_once(' ').unwrap_or_else(|| panic!("neither help nor type: {rest}"));
        assert!(into(self).insert(name.to_owned(), what.to_owned()).is_none(), "twice: {rest}");
    }

    /// The metric that a sample belongs to.
    fn metric_of<'a>(&self, sample: &'a str) -> &'a str {
        let histogram = |name: &&str| self.types.get(*name).is_some_and(|kind| kind == "histogram");
        let stripped = ["_bucket", "_sum", "_count"].iter().filter_map(|ending| sample.strip_suffix(ending));
        stripped.into_iter().find(histogram).unwrap_or(sample)
    }

    /// The value of the one sample with this name and these labels, if it is there.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let wanted = sample(name, labels, 0.0);
        self.samples.iter().find(|it| it.name == wanted.name && it.labels == wanted.labels).map(|it| it.value)
    }

    /// All samples of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.samples.iter().filter(move |sample| sample.name == name)
    }
}

fn sample_of(line: &str) -> Option<Sample> {
    let (series, value) = line.rsplit_once(' ')?;
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, labels.strip_suffix('}')?),
        None => (series, ""),
    };
    let pair = |pair: &str| {
        let (name, value) = pair.split_once("=\"")?;
        Some((name.to_owned(), value.strip_suffix('"')?.to_owned()))
    };
    let labels = labels.split(',').filter(|pair| !pair.is_empty()).map(pair).collect::<Option<_>>()?;
    Some(Sample { name: name.to_owned(), labels, value: value.parse().ok()? })
}
