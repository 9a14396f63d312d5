//! Samples of a metric, as the encoder takes them.

use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric as Sample, MetricFamily, MetricType};
use vestibule_core::MICROS_PER_SECOND;
use vestibule_core::line::{WAIT_BUCKETS, Waits};

use crate::catalogue::Metric;

/// A metric with its samples.
pub(crate) struct Family {
    metric: &'static Metric,
    samples: Vec<Sample>,
}

impl Family {
    pub(crate) const fn of(metric: &'static Metric) -> Self {
        Self { metric, samples: Vec::new() }
    }

    /// Adds a sample of a counter or a gauge; `labels` are the values, in the order of the metric's names.
    pub(crate) fn add(&mut self, labels: &[&str], value: f64) {
        let mut sample = Sample::from_label(self.named(labels));
        if self.metric.kind == MetricType::COUNTER {
            let mut counter = Counter::default();
            counter.set_value(value);
            sample.set_counter(counter);
        } else {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            sample.set_gauge(gauge);
        }
        self.samples.push(sample);
    }

    /// Adds a sample of a histogram.
    pub(crate) fn add_histogram(&mut self, labels: &[&str], histogram: Histogram) {
        let mut sample = Sample::from_label(self.named(labels));
        sample.set_histogram(histogram);
        self.samples.push(sample);
    }

    fn named(&self, values: &[&str]) -> Vec<LabelPair> {
        debug_assert_eq!(values.len(), self.metric.labels.len(), "{}", self.metric.name);
        let pair = |(name, value): (&&str, &&str)| {
            let mut pair = LabelPair::default();
            pair.set_name((*name).to_owned());
            pair.set_value((*value).to_owned());
            pair
        };
        self.metric.labels.iter().zip(values).map(pair).collect()
    }

    /// The family; `None` without a sample, as the encoder has no words for a metric without one.
    pub(crate) fn finish(self) -> Option<MetricFamily> {
        if self.samples.is_empty() {
            return None;
        }
        let mut family = MetricFamily::default();
        family.set_name(self.metric.name.to_owned());
        family.set_help(self.metric.help.to_owned());
        family.set_field_type(self.metric.kind);
        family.set_metric(self.samples);
        Some(family)
    }
}

/// 1 or 0.
pub(crate) fn flag(value: bool) -> f64 {
    f64::from(u8::from(value))
}

/// The store's waits, whose buckets each count for themselves, as a histogram whose buckets count all up to theirs.
pub(crate) fn histogram_of(waits: &Waits) -> Histogram {
    let mut histogram = Histogram::default();
    let mut counted = 0;
    let buckets = WAIT_BUCKETS.iter().zip(waits.buckets).map(|(bound, count)| {
        counted += count;
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(*bound as f64);
        bucket.set_cumulative_count(counted);
        bucket
    });
    histogram.set_bucket(buckets.collect());
    histogram.set_sample_count(waits.buckets.iter().sum());
    histogram.set_sample_sum(waits.sum_us as f64 / MICROS_PER_SECOND as f64);
    histogram
}

#[cfg(test)]
mod tests {
    use prometheus::TextEncoder;

    use super::*;
    use crate::catalogue::{EXPIRED, WAIT};

    fn text(family: Family) -> String {
        TextEncoder::new().encode_to_string(&[family.finish().unwrap()]).unwrap()
    }

    #[test]
    fn a_sample_has_the_metric_s_labels() {
        let mut family = Family::of(&EXPIRED);
        family.add(&["acme", "tour", "line"], 3.0);
        assert!(text(family).ends_with("{tenant=\"acme\",queue=\"tour\",state=\"line\"} 3\n"));
    }

    #[test]
    fn the_buckets_of_a_histogram_count_all_up_to_theirs() {
        let mut waits = Waits { sum_us: 7_201_500_000, ..Waits::default() };
        (waits.buckets[0], waits.buckets[1], waits.buckets[WAIT_BUCKETS.len()]) = (2, 3, 1);
        let mut family = Family::of(&WAIT);
        family.add_histogram(&["acme", "tour"], histogram_of(&waits));
        let text = text(family);
        for line in [
            "_bucket{tenant=\"acme\",queue=\"tour\",le=\"1\"} 2\n",
            "_bucket{tenant=\"acme\",queue=\"tour\",le=\"5\"} 5\n",
            "_bucket{tenant=\"acme\",queue=\"tour\",le=\"7200\"} 5\n",
            "_bucket{tenant=\"acme\",queue=\"tour\",le=\"+Inf\"} 6\n",
            "_sum{tenant=\"acme\",queue=\"tour\"} 7201.5\n",
            "_count{tenant=\"acme\",queue=\"tour\"} 6\n",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
