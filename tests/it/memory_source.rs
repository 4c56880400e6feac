//! Files of models through the one door, `read_model`: settings of twenty families against the catalogue, headers built
//! here byte by byte, and what happens when they are cut or lie.

use leasebench::domain::memory::source::{
    HEAD_BYTES, ModelSource, NoteKind, SourceError, SourceErrorKind, SourceKind, SourceNote, TensorGroup, read_model,
};
use leasebench::domain::memory::{Catalogue, ModelFacts, QuantGroup};
use leasebench::domain::text::{Language, Text};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Settings of published models, shortened to what bears on memory.
fn configs() -> Vec<(String, Vec<u8>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/memory/configs");
    let mut found: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().replace("--", "/");
            (name, std::fs::read(&path).unwrap())
        })
        .collect();
    found.sort();
    found
}

/// Facts as (column, value), those that are known.
fn columns(facts: &ModelFacts) -> Vec<(String, String)> {
    let value = serde_json::to_value(facts).unwrap();
    let known = value.as_object().unwrap().iter().filter(|(_, value)| !value.is_null() && **value != "");
    known.map(|(column, value)| (column.clone(), value.to_string())).collect()
}

/// Where the file and the row differ on purpose: the row has a default of another kind of model, or lacks what the file
/// states.
const DIFFERENT: &[(&str, &str, &str)] = &[
    ("*latent*", "head_dim", "hidden / heads, which means nothing with latent attention"),
    ("qwen2.5-7b-instruct", "sliding_window", "stated and switched off"),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "intermediate", "the row has the experts' size, the file both"),
    ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "shared_experts", "one, of a size of its own"),
];

#[test]
fn settings_of_every_family_give_the_row_of_the_catalogue() {
    let catalogue = Catalogue::builtin();
    let configs = configs();
    assert!(configs.len() >= 20);
    for (name, bytes) in configs {
        let source = read_model("config.json", &bytes, Some(bytes.len() as u64)).unwrap();
        assert_eq!(source.kind, SourceKind::Config, "{name}");
        let row = catalogue.find(&name).unwrap_or_else(|| panic!("{name} is not in the catalogue"));
        let own = columns(&source.facts);
        let of = |column: &str| own.iter().find(|(own, _)| own == column).map(|(_, value)| value.as_str());
        for (column, want) in columns(row) {
            // Counted or taken from other files of the model.
            let beside = ["model", "origin", "params_text_computed", "vision_params", "vision_patches", "other_params"];
            let latent = row.kv_lora_rank.is_some();
            let different = DIFFERENT
                .iter()
                .any(|(model, own, _)| *own == column && (*model == name || (*model == "*latent*" && latent)));
            if !beside.contains(&column.as_str()) && !different {
                assert_eq!(of(&column), Some(want.as_str()), "{name}: {column}");
            }
        }
        assert!(
            !source.notes.iter().any(|note| matches!(
                note.kind,
                NoteKind::UnknownArchitecture | NoteKind::UnknownQuantisation | NoteKind::BadValue | NoteKind::Lacks
            )),
            "{name}: {:?}",
            source.notes
        );
    }
}

fn config(text: &str) -> ModelSource {
    read_model("config.json", text.as_bytes(), Some(text.len() as u64)).unwrap()
}

const BASE: &str = r#""num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
    "intermediate_size": 14336, "vocab_size": 32000, "head_dim": 128"#;

#[test]
fn every_form_of_quantisation_is_read() {
    for (list, want) in [
        (
            r#"{"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true, "version": "gemm"}"#,
            ("awq", Some(4), Some(QuantGroup::Run(128)), Some(true), 0),
        ),
        (
            r#"{"quant_method": "gptq", "bits": 8, "group_size": -1, "sym": true, "desc_act": false}"#,
            ("gptq", Some(8), None, Some(true), 0),
        ),
        (
            r#"{"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head", "mlp.gate"]}"#,
            ("fp8", Some(8), Some(QuantGroup::Block(128, 128)), None, 2),
        ),
        (
            r#"{"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head"], "config_groups":
            {"group_0": {"weights": {"num_bits": 4, "group_size": 32, "symmetric": false, "type": "int"}}}}"#,
            ("compressed-tensors", Some(4), Some(QuantGroup::Run(32)), Some(true), 1),
        ),
        (
            r#"{"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4",
            "bnb_4bit_use_double_quant": true, "llm_int8_skip_modules": null}"#,
            ("bitsandbytes", Some(4), Some(QuantGroup::Run(64)), None, 0),
        ),
        (
            r#"{"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}"#,
            ("mxfp4", Some(4), None, None, 1),
        ),
        (
            r#"{"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", "model.layers.0.mlp*"]}"#,
            ("modelopt", Some(4), Some(QuantGroup::Run(16)), None, 2),
        ),
        (
            r#"{"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": true}"#,
            ("auto-round", Some(4), Some(QuantGroup::Run(128)), Some(true), 0),
        ),
    ] {
        let source = config(&format!("{{\"model_type\": \"llama\", {BASE}, \"quantization_config\": {list}}}"));
        let rules = source.quant.clone().unwrap();
        let got = (rules.method.as_str(), rules.bits, rules.group, rules.has_zero_points, rules.ignored.len());
        assert_eq!(got, want);
        assert_eq!(source.facts.quant_bits, want.1);
        assert!(!source.notes.iter().any(|note| note.kind == NoteKind::UnknownQuantisation), "{:?}", source.notes);
    }
    let alone = r#"{"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8",
        "group_size": 16, "exclude_modules": ["lm_head", "model.layers.0.self_attn*"]}}"#;
    let source = config(alone);
    let rules = source.quant.unwrap();
    assert_eq!((source.kind, rules.bits, rules.kv_format.as_deref()), (SourceKind::QuantConfig, Some(4), Some("FP8")));
    assert!(rules.ignores("model.layers.0.self_attn.q_proj") && !rules.ignores("model.layers.1.self_attn.q_proj"));
    assert_eq!(rules.share_ignored(4, |layer| format!("model.layers.{layer}.self_attn.q_proj")), Some(0.25));
}

#[test]
fn what_a_file_cannot_tell_is_named_and_the_rest_stays() {
    let notes = |text: &str| {
        let source = config(text);
        assert_eq!(source.facts.layers, Some(32), "{text}");
        source.notes.into_iter().map(|note| (note.kind, note.what)).collect::<Vec<_>>()
    };
    for (more, want) in [
        (r#""model_type": "newthing""#, vec![(NoteKind::UnknownArchitecture, "newthing")]),
        (
            r#""model_type": "llama", "quantization_config": {"quant_method": "magic", "bits": 3}"#,
            vec![(NoteKind::UnknownQuantisation, "magic")],
        ),
        (r#""model_type": "llama", "vision_config": {}"#, vec![(NoteKind::OtherPart, "vision_config")]),
        (r#""model_type": "internlm3", "sliding_window": 512"#, vec![(NoteKind::SlidingUnknown, "sliding_window")]),
        (r#""model_type": "llama", "num_experts": [8, 8, 4]"#, vec![(NoteKind::LayersDiffer, "num_experts")]),
    ] {
        let want: Vec<(NoteKind, String)> = want.into_iter().map(|(kind, what)| (kind, what.to_owned())).collect();
        assert_eq!(notes(&format!("{{{BASE}, {more}}}")), want);
    }
    for bad in ["-5", "1e30", "99999999999999999999", "4096.5", "\"many\"", "[]", "{}"] {
        let text = format!("{{\"model_type\": \"llama\", {BASE}}}")
            .replace("\"vocab_size\": 32000", &format!("\"vocab_size\": {bad}"));
        let source = config(&text);
        assert_eq!((source.facts.vocab, source.facts.hidden), (None, Some(4096)), "{bad}");
        assert!(source.notes.iter().any(|note| note.kind == NoteKind::Lacks && note.what == "vocab"), "{bad}");
    }
}

#[test]
fn broken_text_gets_a_sentence() {
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    for (text, want) in [
        ("{\"num_hidden_layers\": ", SourceErrorKind::BrokenJson),
        ("{}", SourceErrorKind::NoModel),
        ("{\"a\": 1}", SourceErrorKind::NoModel),
        (deep.as_str(), SourceErrorKind::BrokenJson),
        ("hello, this is no model", SourceErrorKind::UnknownFile),
        ("", SourceErrorKind::UnknownFile),
        ("{\"weight_map\": {}}", SourceErrorKind::NoModel),
        ("{\"weight_map\": {\"a\": 1}}", SourceErrorKind::BrokenJson),
        ("{\"a\": {\"dtype\": \"BF16\", \"shape\": [1], \"data_offsets\": [2, 0]}}", SourceErrorKind::AbsurdSize),
        (
            "{\"a\": {\"dtype\": \"BF16\", \"shape\": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1], \"data_offsets\": [0, 2]}}",
            SourceErrorKind::BrokenJson,
        ),
    ] {
        let error = read_model("x", text.as_bytes(), None).unwrap_err();
        assert_eq!(error.kind, want, "{}", &text[..text.len().min(60)]);
    }
}

/// Tensors of a small model with one quantised layer and one that was left alone.
const TENSORS: &[(&str, &str, &[u64])] = &[
    ("model.embed_tokens.weight", "BF16", &[64, 16]),
    ("model.layers.0.self_attn.q_proj.weight", "F8_E4M3", &[16, 16]),
    ("model.layers.0.self_attn.q_proj.weight_scale_inv", "F32", &[1, 1]),
    ("model.layers.0.self_attn.q_norm.weight", "BF16", &[8]),
    ("model.layers.0.mlp.experts.0.up_proj.weight", "F8_E4M3", &[8, 16]),
    ("model.layers.0.mlp.experts.1.up_proj.weight", "F8_E4M3", &[8, 16]),
    ("model.layers.0.mlp.gate.weight", "BF16", &[2, 16]),
    ("model.layers.1.self_attn.q_proj.weight", "BF16", &[16, 16]),
    ("model.norm.weight", "BF16", &[16]),
];

fn width(dtype: &str) -> u64 {
    match dtype {
        "F8_E4M3" => 1,
        "BF16" => 2,
        _ => 4,
    }
}

fn header_text() -> String {
    let mut offset = 0;
    let entries: Vec<String> = TENSORS
        .iter()
        .map(|(name, dtype, shape)| {
            let bytes = shape.iter().product::<u64>() * width(dtype);
            offset += bytes;
            format!(
                "\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{},{offset}]}}",
                offset - bytes
            )
        })
        .collect();
    format!("{{\"__metadata__\":{{\"format\":\"pt\"}},{}}}", entries.join(","))
}

/// A file's head and its length.
fn safetensors() -> (Vec<u8>, u64) {
    let header = header_text();
    let data: u64 = TENSORS.iter().map(|(_, dtype, shape)| shape.iter().product::<u64>() * width(dtype)).sum();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    let len = bytes.len() as u64 + data;
    (bytes, len)
}

#[test]
fn a_safetensors_header_gives_exact_bytes_of_every_part() {
    let (bytes, len) = safetensors();
    let source = read_model("model.safetensors", &bytes, Some(len)).unwrap();
    let list = source.tensors.clone().unwrap();
    assert_eq!(list.total_bytes(), Some(len - bytes.len() as u64));
    let groups = list.by_group();
    let of = |group| groups.get(&group).map(|total| (total.n_tensors, total.bytes, total.plain_bytes));
    assert_eq!(of(TensorGroup::Embedding), Some((1, 2048, 2048)));
    assert_eq!(of(TensorGroup::Attention), Some((4, 256 + 4 + 16 + 512, 4 + 16 + 512)));
    assert_eq!(of(TensorGroup::Experts), Some((2, 256, 0)));
    assert_eq!(of(TensorGroup::Router), Some((1, 64, 64)));
    let facts = &source.facts;
    let got = (facts.layers, facts.hidden, facts.vocab, facts.moe_experts, facts.tie_embeddings, facts.qk_norm);
    assert_eq!(got, (Some(2), Some(16), Some(64), Some(2), Some(true), Some(true)));
    assert_eq!(source.notes, []);
    let pasted = read_model("", header_text().as_bytes(), None).unwrap();
    assert_eq!((pasted.tensors, pasted.facts.layers), (source.tensors, Some(2)));
}

#[test]
fn an_index_gives_names_and_the_total_and_a_header_the_rest() {
    let text = r#"{"metadata": {"total_size": 3.3e9}, "weight_map": {"model.embed_tokens.weight": "model-00001-of-00002.safetensors",
        "model.layers.0.self_attn.q_proj.bias": "model-00001-of-00002.safetensors", "model.norm.weight": "model-00002-of-00002.safetensors",
        "lm_head.weight": "model-00002-of-00002.safetensors"}}"#;
    let index = config(text);
    let list = index.tensors.clone().unwrap();
    assert_eq!((index.kind, list.n_files, list.total_bytes()), (SourceKind::SafetensorsIndex, 2, Some(3_300_000_000)));
    assert_eq!(
        (index.facts.qkv_bias, index.facts.tie_embeddings, index.facts.layers),
        (Some(true), Some(false), Some(1))
    );
    assert_eq!(index.notes.iter().map(|note| note.kind).collect::<Vec<_>>(), [NoteKind::NamesOnly]);
    let (bytes, len) = safetensors();
    let both =
        config(&format!("{{\"model_type\": \"llama\", {BASE}}}")).joined(read_model("m", &bytes, Some(len)).unwrap());
    assert_eq!(both.facts.layers, Some(32));
    assert_eq!(both.tensors.unwrap().total_bytes(), Some(len - bytes.len() as u64));
}

#[test]
fn sizes_that_cannot_be_are_said_and_never_believed() {
    let (bytes, len) = safetensors();
    let claims = |length: u64| {
        let mut lying = bytes.clone();
        lying[..8].copy_from_slice(&length.to_le_bytes());
        lying
    };
    for (length, want) in [
        (u64::MAX, SourceErrorKind::HeaderTooLong),
        (1 << 40, SourceErrorKind::HeaderTooLong),
        (len, SourceErrorKind::HeaderTooLong),
        (len - 8, SourceErrorKind::Cut),
        (3, SourceErrorKind::BrokenJson),
    ] {
        assert_eq!(read_model("m", &claims(length), Some(len)).unwrap_err().kind, want, "{length}");
    }
    for (from, to) in
        [("[64, 16]", "[64, 1600]"), ("\"data_offsets\":[0,2048]", "\"data_offsets\":[0,9007199254740993]")]
    {
        let text = header_text().replace(from, to);
        let mut lying = (text.len() as u64).to_le_bytes().to_vec();
        lying.extend(text.as_bytes());
        let source = read_model("m", &lying, Some(len + 8)).unwrap();
        assert_eq!(source.tensors, None, "{to}");
        assert!(source.notes.iter().any(|note| note.kind == NoteKind::SizesDoNotFit), "{to}");
    }
    let shard = read_model("dir/model-00002-of-00030.safetensors", &bytes, Some(len)).unwrap();
    assert_eq!(shard.notes.iter().map(|note| note.kind).collect::<Vec<_>>(), [NoteKind::OneOfSeveral]);
}

/// A GGUF header, built as the format says.
#[derive(Default)]
struct Gguf {
    n_keys: u64,
    keys: Vec<u8>,
    n_tensors: u64,
    tensors: Vec<u8>,
}

impl Gguf {
    fn string(out: &mut Vec<u8>, text: &str) {
        out.extend((text.len() as u64).to_le_bytes());
        out.extend(text.as_bytes());
    }

    fn key(mut self, name: &str, kind: u32, value: &[u8]) -> Self {
        Self::string(&mut self.keys, name);
        self.keys.extend(kind.to_le_bytes());
        self.keys.extend(value);
        self.n_keys += 1;
        self
    }

    fn number(self, name: &str, n: u32) -> Self {
        self.key(name, 4, &n.to_le_bytes())
    }

    fn text(self, name: &str, text: &str) -> Self {
        let mut value = Vec::new();
        Self::string(&mut value, text);
        self.key(name, 8, &value)
    }

    fn numbers(self, name: &str, list: &[u32]) -> Self {
        let mut value = 4_u32.to_le_bytes().to_vec();
        value.extend((list.len() as u64).to_le_bytes());
        list.iter().for_each(|n| value.extend(n.to_le_bytes()));
        self.key(name, 9, &value)
    }

    fn words(self, name: &str, n: u64) -> Self {
        let mut value = 8_u32.to_le_bytes().to_vec();
        value.extend(n.to_le_bytes());
        (0..n).for_each(|n| Self::string(&mut value, &format!("token{n}")));
        self.key(name, 9, &value)
    }

    fn tensor(mut self, name: &str, shape: &[u64], kind: u32, offset: u64) -> Self {
        Self::string(&mut self.tensors, name);
        self.tensors.extend((shape.len() as u32).to_le_bytes());
        shape.iter().for_each(|size| self.tensors.extend(size.to_le_bytes()));
        self.tensors.extend(kind.to_le_bytes());
        self.tensors.extend(offset.to_le_bytes());
        self.n_tensors += 1;
        self
    }

    fn bytes(&self, version: u32) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        out.extend(version.to_le_bytes());
        out.extend(self.n_tensors.to_le_bytes());
        out.extend(self.n_keys.to_le_bytes());
        out.extend(&self.keys);
        out.extend(&self.tensors);
        out
    }
}

fn small_gguf() -> Gguf {
    Gguf::default()
        .text("general.architecture", "gpt-oss")
        .text("general.name", "Small")
        .number("gpt-oss.block_count", 4)
        .number("gpt-oss.embedding_length", 256)
        .number("gpt-oss.feed_forward_length", 512)
        .number("gpt-oss.attention.head_count", 8)
        .number("gpt-oss.attention.head_count_kv", 2)
        .number("gpt-oss.attention.key_length", 64)
        .number("gpt-oss.attention.sliding_window", 128)
        .number("gpt-oss.expert_count", 4)
        .number("gpt-oss.expert_used_count", 2)
        .number("gpt-oss.expert_feed_forward_length", 512)
        .words("tokenizer.ggml.tokens", 100)
        .tensor("token_embd.weight", &[256, 100], 8, 0)
        .tensor("blk.0.attn_q.weight", &[256, 512], 12, 27_200)
        .tensor("blk.0.ffn_up_exps.weight", &[256, 512, 4], 39, 100_928)
        .tensor("blk.0.attn_norm.weight", &[256], 0, 379_456)
}

#[test]
fn a_gguf_header_gives_facts_and_bytes_by_format() {
    for version in [2, 3] {
        let bytes = small_gguf().bytes(version);
        let len = bytes.len() as u64 + 400_000;
        let source = read_model("small.gguf", &bytes, Some(len)).unwrap();
        let want = ModelFacts {
            model: "Small".into(),
            layers: Some(4),
            hidden: Some(256),
            heads: Some(8),
            kv_heads: Some(2),
            head_dim: Some(64),
            intermediate: Some(512),
            vocab: Some(100),
            tie_embeddings: Some(true),
            moe_experts: Some(4),
            experts_per_tok: Some(2),
            moe_intermediate: Some(512),
            sliding_window: Some(128),
            full_attn_layers: Some(2),
            qkv_bias: Some(false),
            qk_norm: Some(false),
            quant_method: Some("gguf".into()),
            params_text_computed: Some(25_600 + 131_072 + 524_288 + 256),
            origin: "small.gguf".into(),
            ..ModelFacts::default()
        };
        assert_eq!(source.facts, want);
        let list = source.tensors.unwrap();
        let bytes: Vec<(&str, u64)> = list.by_dtype().into_iter().collect();
        assert_eq!(bytes, [("F32", 1024), ("MXFP4", 278_528), ("Q4_K", 73_728), ("Q8_0", 27_200)]);
        assert_eq!(source.notes, []);
    }
}

#[test]
fn gguf_layers_that_differ_are_kept_apart() {
    let hybrid = Gguf::default()
        .text("general.architecture", "qwen3next")
        .number("qwen3next.block_count", 8)
        .number("qwen3next.embedding_length", 2048)
        .number("qwen3next.attention.head_count", 16)
        .number("qwen3next.attention.head_count_kv", 2)
        .number("qwen3next.attention.key_length", 256)
        .number("qwen3next.full_attention_interval", 4)
        .number("qwen3next.ssm.state_size", 128)
        .number("qwen3next.ssm.group_count", 16)
        .number("qwen3next.ssm.time_step_rank", 32)
        .number("qwen3next.ssm.inner_size", 4096)
        .number("qwen3next.ssm.conv_kernel", 4);
    let facts = read_model("m", &hybrid.bytes(3), None).unwrap().facts;
    let got = (facts.full_attn_layers, facts.linear_attn_layers, facts.linear_k_heads, facts.linear_v_heads);
    assert_eq!(got, (Some(2), Some(6), Some(16), Some(32)));
    assert_eq!((facts.linear_k_head_dim, facts.linear_v_head_dim, facts.linear_conv), (Some(128), Some(128), Some(4)));
    let mixed = Gguf::default()
        .text("general.architecture", "nemotron_h")
        .number("nemotron_h.block_count", 4)
        .number("nemotron_h.embedding_length", 256)
        .numbers("nemotron_h.attention.head_count_kv", &[0, 2, 0, 2])
        .number("nemotron_h.attention.head_count", 8)
        .number("nemotron_h.ssm.state_size", 128);
    let facts = read_model("m", &mixed.bytes(3), None).unwrap().facts;
    assert_eq!((facts.kv_heads, facts.full_attn_layers, facts.mamba_state), (Some(2), Some(2), Some(128)));
    let latent = Gguf::default()
        .text("general.architecture", "deepseek2")
        .number("deepseek2.block_count", 27)
        .number("deepseek2.attention.head_count", 16)
        .number("deepseek2.attention.head_count_kv", 1)
        .number("deepseek2.attention.kv_lora_rank", 512)
        .number("deepseek2.attention.key_length", 576)
        .number("deepseek2.attention.key_length_mla", 192)
        .number("deepseek2.attention.value_length_mla", 128)
        .number("deepseek2.rope.dimension_count", 64);
    let facts = read_model("m", &latent.bytes(3), None).unwrap().facts;
    let got = (facts.kv_lora_rank, facts.qk_nope_head_dim, facts.qk_rope_head_dim, facts.v_head_dim, facts.head_dim);
    assert_eq!(got, (Some(512), Some(128), Some(64), Some(128), None));
}

#[test]
fn gguf_headers_that_lie_are_refused_or_named() {
    let error = |bytes: &[u8], len: Option<u64>| read_model("m.gguf", bytes, len).unwrap_err().kind;
    let good = small_gguf().bytes(3);
    let with = |at: usize, value: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        bytes
    };
    assert_eq!(error(&with(4, &1_u32.to_le_bytes()), None), SourceErrorKind::UnknownVersion);
    assert_eq!(error(&with(4, &3_u32.to_be_bytes()), None), SourceErrorKind::WrongByteOrder);
    assert_eq!(error(&with(8, &u64::MAX.to_le_bytes()), None), SourceErrorKind::AbsurdSize);
    assert_eq!(error(&with(16, &(1_u64 << 40).to_le_bytes()), None), SourceErrorKind::AbsurdSize);
    assert_eq!(error(&with(8, &500_000_u64.to_le_bytes()), Some(10_000)), SourceErrorKind::AbsurdSize);
    assert_eq!(error(&with(24, &u64::MAX.to_le_bytes()), None), SourceErrorKind::AbsurdSize);
    assert_eq!(error(&Gguf::default().number("a", 1).bytes(3), None), SourceErrorKind::NoModel);
    let huge = small_gguf().tensor("blk.1.attn_q.weight", &[u64::MAX, 3], 0, 0).bytes(3);
    let source = read_model("m", &huge, None).unwrap();
    assert_eq!((source.tensors, source.facts.layers), (None, Some(4)));
    assert_eq!(source.notes[0].kind, NoteKind::SizesDoNotFit);
    let long = small_gguf().tensor("blk.1.attn_q.weight", &[1 << 20, 1 << 20], 0, 0).bytes(3);
    let source = read_model("m", &long, Some(1 << 20)).unwrap();
    assert_eq!((source.tensors, source.facts.hidden), (None, Some(256)));
    let unknown = small_gguf().tensor("blk.1.attn_q.weight", &[256, 256], 99, 380_480).bytes(3);
    let len = unknown.len() as u64 + 400_000;
    let notes = read_model("m", &unknown, Some(len)).unwrap().notes;
    assert_eq!(notes.iter().map(|note| note.kind).collect::<Vec<_>>(), [NoteKind::UnknownFormat]);
    let mut list = 4_u32.to_le_bytes().to_vec();
    list.extend(u64::MAX.to_le_bytes());
    let endless = Gguf::default().text("general.architecture", "llama").key("x", 9, &list).bytes(3);
    assert_eq!(read_model("m", &endless, None).unwrap().notes[0].kind, NoteKind::HeaderCut);
}

#[test]
fn every_note_and_error_has_its_sentence() {
    for language in Language::ALL {
        let text = Text::of(language);
        for kind in NoteKind::ALL {
            let said = text.source_note(&SourceNote { kind: *kind, what: "THIS".to_owned() });
            assert_ne!(said, kind.name(), "{}", language.tag());
            assert!(said.contains("THIS") || *kind == NoteKind::NamesOnly, "{said}");
        }
        for kind in SourceErrorKind::ALL {
            let said = text.source_error(&SourceError { kind: *kind, what: "THIS".to_owned() });
            assert_ne!(said, kind.name(), "{}", language.tag());
        }
    }
}

#[test]
fn the_command_line_gives_the_facts_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, len) = safetensors();
    let file = folder.path().join("model.safetensors");
    std::fs::write(&file, &bytes).unwrap();
    std::fs::File::options().append(true).open(&file).unwrap().set_len(len).unwrap();
    let run = |path: &std::path::Path| {
        let out = std::process::Command::new(env!("CARGO_BIN_EXE_leasebench"))
            .args(["parse", "model_file", path.to_str().unwrap(), "--json"])
            .output()
            .unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        (out.status.code().unwrap(), json)
    };
    let (code, json) = run(&file);
    let value = |device: &str, key: &str| {
        let facts = json["facts"].as_array().unwrap();
        facts.iter().find(|fact| fact["device"] == device && fact["key"] == key).map(|fact| fact["value"].clone())
    };
    assert_eq!((code, json["probe"].as_str()), (0, Some("model_file")));
    assert_eq!(value("model", "layers"), Some(2.into()));
    assert_eq!(value("model", "tensor_bytes"), Some((len - bytes.len() as u64).into()));
    assert_eq!(value("model/experts", "unquantised_bytes"), Some(0.into()));
    std::fs::write(&file, b"nothing of this kind").unwrap();
    let (code, json) = run(&file);
    assert_eq!((code, json["facts"].as_array().unwrap().len()), (1, 0));
    assert!(json["absent"].as_str().unwrap().contains("config.json"), "{json}");
}

/// Reads what may be broken: an answer or an error, whatever the bytes.
fn survive(bytes: &[u8], len: Option<u64>, what: &str) {
    let read = std::panic::catch_unwind(|| read_model("m", bytes, len)).unwrap_or_else(|_| panic!("{what}"));
    let texts: Vec<String> = match &read {
        Ok(source) => source.notes.iter().map(|note| note.what.clone()).chain([source.facts.model.clone()]).collect(),
        Err(error) => vec![error.what.clone()],
    };
    for text in texts {
        assert!(text.chars().count() <= 201 && !text.chars().any(char::is_control), "{what}: {text:?}");
    }
}

#[test]
fn samples_cut_at_every_byte_and_mutated_are_read_or_refused() {
    let (tensors, len) = safetensors();
    let gguf = small_gguf().bytes(3);
    let mut samples = vec![
        (tensors, Some(len)),
        (gguf.clone(), Some(gguf.len() as u64 + 400_000)),
        (header_text().into_bytes(), None),
    ];
    samples.extend(configs().into_iter().map(|(_, bytes)| (bytes, None)));
    for (idx, (bytes, len)) in samples.iter().enumerate() {
        for end in 0..bytes.len() {
            survive(&bytes[..end], *len, &format!("sample {idx} cut at {end}"));
        }
    }
    for case in 0..6_000_u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(case);
        let mut below = |n: usize| (rng.next_u64() % n.max(1) as u64) as usize;
        let (bytes, len) = &samples[below(samples.len())];
        let mut bytes = bytes.clone();
        for _ in 0..=below(4) {
            let at = below(bytes.len());
            match below(5) {
                0 => bytes[at] ^= 1 << below(8),
                1 => bytes[at..].iter_mut().take(8).for_each(|byte| *byte = 0xff),
                2 => {
                    let end = (at + below(200)).min(bytes.len());
                    bytes.drain(at..end);
                }
                3 => {
                    let end = (at + below(200)).min(bytes.len());
                    let chunk = bytes[at..end].to_vec();
                    bytes.splice(at..at, chunk);
                }
                _ => {
                    bytes.splice(
                        at..at,
                        [&b"\0\0"[..], b"[[[[", b"99999999999999999999", b"\x1b[31m"][below(4)].iter().copied(),
                    );
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        survive(&bytes, if below(2) == 0 { *len } else { None }, &format!("seed {case}"));
    }
    const { assert!(HEAD_BYTES > 1 << 20) };
}
