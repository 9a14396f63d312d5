//! Builds metric families for the Prometheus encoder.

use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric as Sample, MetricFamily, MetricType};
use vestibule_core::MICROS_PER_SECOND;
use vestibule_core::line::Waits;

use crate::catalog::Metric;

/// A metric and its samples.
pub(crate) struct MetricFamilyBuilder {
    metric: &'static Metric,
    samples: Vec<Sample>,
}

impl MetricFamilyBuilder {
    pub(crate) const fn new(metric: &'static Metric) -> Self {
        Self { metric, samples: Vec::new() }
    }

    /// Adds a sample of a counter or a gauge. `labels` are the label values, in the order of the metric's label names.
    pub(crate) fn add(&mut self, labels: &[&str], value: f64) {
        let mut sample = Sample::from_label(self.label_pairs(labels));
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
        let mut sample = Sample::from_label(self.label_pairs(labels));
        sample.set_histogram(histogram);
        self.samples.push(sample);
    }

    fn label_pairs(&self, values: &[&str]) -> Vec<LabelPair> {
        debug_assert_eq!(values.len(), self.metric.labels.len(), "{}", self.metric.name);
        let pair = |(name, value): (&&str, &&str)| {
            let mut pair = LabelPair::default();
            pair.set_name((*name).to_owned());
            pair.set_value((*value).to_owned());
            pair
        };
        self.metric.labels.iter().zip(values).map(pair).collect()
    }

    /// The family; `None` without samples, because the encoder rejects empty families.
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

/// Converts the store's waits, whose buckets are not cumulative, to a Prometheus histogram.
pub(crate) fn histogram_of(waits: &Waits) -> Histogram {
    let mut histogram = Histogram::default();
    let buckets = waits.cumulative().into_iter().filter_map(|(bound, count)| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(bound? as f64);
        bucket.set_cumulative_count(count);
        Some(bucket)
    });
    histogram.set_bucket(buckets.collect());
    histogram.set_sample_count(waits.buckets.iter().sum());
    histogram.set_sample_sum(waits.sum_us as f64 / MICROS_PER_SECOND as f64);
    histogram
}

#[cfg(test)]
mod tests {
    use prometheus::TextEncoder;
    use vestibule_core::line::WAIT_BUCKETS;

    use super::*;
    use crate::catalog::{EXPIRED, WAIT};

    fn text(family: MetricFamilyBuilder) -> String {
        TextEncoder::new().encode_to_string(&[family.finish().unwrap()]).unwrap()
    }

    #[test]
    fn samples_have_the_labels_of_their_metric() {
        let mut family = MetricFamilyBuilder::new(&EXPIRED);
        family.add(&["acme", "tour", "waiting"], 3.0);
        assert!(text(family).ends_with("{tenant=\"acme\",queue=\"tour\",state=\"waiting\"} 3\n"));
    }

    #[test]
    fn histogram_buckets_are_cumulative() {
        let mut waits = Waits { sum_us: 7_201_500_000, ..Waits::default() };
        (waits.buckets[0], waits.buckets[1], waits.buckets[WAIT_BUCKETS.len()]) = (2, 3, 1);
        let mut family = MetricFamilyBuilder::new(&WAIT);
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
