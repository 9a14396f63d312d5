//! The brand color, and readable colors that are derived from it.
//!
//! Contrast as in WCAG 2.2, "relative luminance" and "contrast ratio".

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// Contrast of text and background that WCAG 2.2 AA requires.
const READABLE: f64 = 4.5;
/// Contrast of the accent on dark pages.
const READABLE_ON_DARK: f64 = 6.0;
const WHITE: Color = Color([255, 255, 255]);
const BLACK: Color = Color([0, 0, 0]);
const DARK_PAGE: Color = Color([18, 20, 25]);
const DARK_CARD: Color = Color([27, 30, 37]);

/// A color `#rrggbb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color([u8; 3]);

/// An invalid color.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a color as #rrggbb")]
pub struct ColorError;

impl Default for Color {
    /// The blue of the built-in theme.
    fn default() -> Self {
        Self([46, 91, 214])
    }
}

impl FromStr for Color {
    type Err = ColorError;

    fn from_str(text: &str) -> Result<Self, ColorError> {
        let digits = text.strip_prefix('#').ok_or(ColorError)?;
        if digits.len() != 6 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(ColorError);
        }
        let rgb = u32::from_str_radix(digits, 16).map_err(|_| ColorError)?;
        let [_, red, green, blue] = rgb.to_be_bytes();
        Ok(Self([red, green, blue]))
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl Color {
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|channel| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// This color with `percent` of the other in it.
    fn mixed(self, other: Self, percent: u8) -> Self {
        let share = f64::from(percent) / 100.0;
        let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
        let [r, g, b] = self.0;
        let [other_r, other_g, other_b] = other.0;
        Self([mix(r, other_r), mix(g, other_g), mix(b, other_b)])
    }

    /// Mixes in the other color until it is readable on all of `grounds`.
    fn readable_on(self, grounds: &[Self], least: f64, other: Self) -> Self {
        let reads = |color: &Self| grounds.iter().all(|ground| color.contrast(*ground) >= least);
        (0..=100).step_by(4).map(|percent| self.mixed(other, percent)).find(reads).unwrap_or(other)
    }
}

/// The colors of a page, all as `#rrggbb`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Palette {
    /// The brand color.
    pub(crate) brand: String,
    /// Black or white, whichever is easier to read on it.
    pub(crate) on_brand: String,
    /// The brand color, dark enough for a light page.
    pub(crate) accent_light: String,
    /// The brand color, light enough for a dark page.
    pub(crate) accent_dark: String,
    /// Background of a light page.
    pub(crate) page_light: String,
    /// Background of a dark page.
    pub(crate) page_dark: String,
    /// The glow at the top, light.
    pub(crate) glow_light: String,
    /// The glow at the top, dark.
    pub(crate) glow_dark: String,
}

impl Palette {
    pub(crate) fn of(brand: Color) -> Self {
        let light = Color([247, 248, 250]).mixed(brand, 2);
        let dark = DARK_PAGE.mixed(brand, 3);
        let on_brand = if brand.contrast(WHITE) >= brand.contrast(BLACK) { WHITE } else { BLACK };
        Self {
            brand: brand.to_string(),
            on_brand: on_brand.to_string(),
            accent_light: brand.readable_on(&[WHITE, light], READABLE, BLACK).to_string(),
            accent_dark: brand.readable_on(&[DARK_CARD, dark], READABLE_ON_DARK, WHITE).to_string(),
            page_light: light.to_string(),
            page_dark: dark.to_string(),
            glow_light: light.mixed(brand, 14).to_string(),
            glow_dark: dark.mixed(brand, 24).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn contrast(a: &str, b: &str) -> f64 {
        a.parse::<Color>().unwrap().contrast(b.parse().unwrap())
    }

    #[test]
    fn colors_have_six_hex_digits() {
        assert_eq!("#C2185b".parse::<Color>().unwrap().to_string(), "#c2185b");
        for bad in ["", "#fff", "c2185b", "#c2185g", "#+2185b", "#c2185b;}", "#éé12"] {
            assert_eq!(bad.parse::<Color>(), Err(ColorError), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn palettes_are_readable_for_every_brand_color(rgb in any::<[u8; 3]>()) {
            let palette = Palette::of(Color(rgb));
            for (front, ground) in [
                (&palette.on_brand, &palette.brand),
                (&palette.accent_light, &palette.page_light),
                (&palette.accent_dark, &palette.page_dark),
            ] {
                prop_assert!(contrast(front, ground) >= READABLE, "{front} on {ground}");
            }
            prop_assert!(contrast(&palette.accent_light, "#ffffff") >= READABLE);
            prop_assert!(contrast(&palette.accent_dark, "#1b1e25") >= READABLE);
            // The gray texts of the style sheet, on the page and on the glow.
            for ground in [&palette.page_light, &palette.glow_light] {
                prop_assert!(contrast("#16181d", ground) >= READABLE);
            }
            prop_assert!(contrast("#585d69", &palette.page_light) >= READABLE);
            prop_assert!(contrast("#a9afbb", &palette.page_dark) >= READABLE);
            prop_assert!(contrast("#f2f3f5", &palette.glow_dark) >= READABLE);
        }
    }
}
