//! Forms from plain lists, byte by byte as `core/FORMAT.md` specifies.

use undertone_core::form::{digest, format};
use zerocopy::FromBytes;

/// The content of a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormParts {
    /// Name, weight and names of categories of each attribute.
    pub attributes: Vec<(String, u32, Vec<String>)>,
    /// Indices of two attributes, and a weight.
    pub pairs: Vec<(u16, u16, u32)>,
    /// The index of the topic's attribute, and the identifier of its pack.
    pub topic: Option<(u16, [u8; 8])>,
}

impl FormParts {
    /// Attributes of these numbers of categories, with these weights.
    pub fn of_sizes(sizes: &[u32], weights: &[u32], pairs: &[(u16, u16, u32)]) -> Self {
        let attribute = |(j, (size, weight)): (usize, (&u32, &u32))| {
            let categories = (0..*size).map(|k| format!("c{k}")).collect();
            (format!("a{j}"), *weight, categories)
        };
        Self {
            attributes: sizes
                .iter()
                .zip(weights)
                .enumerate()
                .map(attribute)
                .collect(),
            pairs: pairs.to_vec(),
            topic: None,
        }
    }

    /// The bytes of the file.
    pub fn to_form(&self) -> Vec<u8> {
        let sizes = self
            .attributes
            .iter()
            .map(|(_, _, names)| names.len() as u32);
        let mut rest = Vec::new();
        for (size, (_, weight, _)) in sizes.clone().zip(&self.attributes) {
            rest.extend(size.to_le_bytes());
            rest.extend(weight.to_le_bytes());
        }
        for (first, second, weight) in &self.pairs {
            rest.extend(first.to_le_bytes());
            rest.extend(second.to_le_bytes());
            rest.extend(weight.to_le_bytes());
        }
        let first = self.attributes.iter().map(|(name, _, _)| name);
        let second = self.attributes.iter().flat_map(|(_, _, names)| names);
        let names: Vec<&String> = first.chain(second).collect();
        let mut end = 0;
        for name in &names {
            end += name.len() as u32;
            rest.extend(end.to_le_bytes());
        }
        rest.extend(names.iter().flat_map(|name| name.bytes()));
        let mut file = b"UTFORM\x01\x00".to_vec();
        file.extend((64 + rest.len() as u32).to_le_bytes());
        file.extend((self.attributes.len() as u16).to_le_bytes());
        file.extend((self.pairs.len() as u16).to_le_bytes());
        file.extend(sizes.sum::<u32>().to_le_bytes());
        let (topic, pack) = self.topic.map_or((0, [0; 8]), |(at, pack)| (at + 1, pack));
        file.extend(topic.to_le_bytes());
        file.extend([0; 2]);
        file.extend(pack);
        file.extend([0; 32]);
        file.extend(rest);
        seal(&mut file);
        file
    }
}

/// Writes the digest of a form whose other bytes may be any.
pub fn seal(file: &mut [u8]) {
    let Ok((header, rest)) = format::Header::mut_from_prefix(file) else {
        return;
    };
    header.digest = digest(header, rest);
}
