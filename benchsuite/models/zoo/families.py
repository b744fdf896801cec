"""Families of transformers models, small enough to be built in a moment: how to make one, and where its norm is.

Paths and kinds are what a reader of the class definitions finds (transformers 5.24). Nothing here was taken from
:mod:`benchsuite.models.norms`, which is tested against this table. Imports neither torch nor transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchsuite.errors import UsageError, near
from benchsuite.models.zoo.family import GPT, PATCH, PICTURE, Family, Size

if TYPE_CHECKING:
    from collections.abc import Mapping


def _rotary(size: Size) -> Mapping[str, Any]:
    return {"rotary_dim": size.head // 2}


def _grouped(size: Size) -> Mapping[str, Any]:
    return {"num_key_value_heads": size.heads // 2}


def _explicit_head(size: Size) -> Mapping[str, Any]:
    return {"head_dim": size.head, **_grouped(size)}


def _experts(size: Size) -> Mapping[str, Any]:
    return {**_grouped(size), "num_local_experts": 2, "num_experts_per_tok": 1}


def _numbered(_size: Size) -> Mapping[str, Any]:
    """Ids for the special tokens, where a configuration insists on having them."""
    return {name: place for place, name in enumerate(_NUMBERED)}


_NUMBERED = ("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id")


def _picture(_size: Size) -> Mapping[str, Any]:
    return {"image_size": PICTURE, "patch_size": PATCH}


def _encoder_decoder(size: Size) -> Mapping[str, Any]:
    return {
        "encoder_layers": size.layers,
        "encoder_attention_heads": size.heads,
        "encoder_ffn_dim": 2 * size.width,
        "decoder_start_token_id": 0,
    }


_BERT_NORM = "encoder.layer.{last}.output.LayerNorm"

_LAYER_NORM_DECODERS = (
    Family("gpt2", "GPT2LMHeadModel", "layer", "transformer.ln_f", GPT),
    Family(
        "gpt-neo",
        "GPTNeoForCausalLM",
        "layer",
        "transformer.ln_f",
        ("hidden_size", "num_layers", "num_heads", "intermediate_size"),
        lambda s: {"attention_types": [[["global"], s.layers]]},
    ),
    Family("gptj", "GPTJForCausalLM", "layer", "transformer.ln_f", GPT, _rotary),
    Family("codegen", "CodeGenForCausalLM", "layer", "transformer.ln_f", GPT, _rotary),
    Family("gpt-bigcode", "GPTBigCodeForCausalLM", "layer", "transformer.ln_f", GPT),
    Family("bloom", "BloomForCausalLM", "layer", "transformer.ln_f", ("hidden_size", "n_layer", "n_head", "n_inner")),
    Family("falcon", "FalconForCausalLM", "layer", "transformer.ln_f"),
    Family("gpt-neox", "GPTNeoXForCausalLM", "layer", "gpt_neox.final_layer_norm"),
    Family(
        "opt",
        "OPTForCausalLM",
        "layer",
        "model.decoder.final_layer_norm",
        ("hidden_size", "num_hidden_layers", "num_attention_heads", "ffn_dim"),
        lambda s: {"word_embed_proj_dim": s.width, "pad_token_id": 1},
    ),
    Family(
        "opt-350m",
        "OPTForCausalLM",
        "layer",
        "model.decoder.layers.{last}.final_layer_norm",
        ("hidden_size", "num_hidden_layers", "num_attention_heads", "ffn_dim"),
        lambda s: {"word_embed_proj_dim": s.width // 2, "pad_token_id": 1, "do_layer_norm_before": False},
        by_order=True,
    ),
    Family("phi", "PhiForCausalLM", "layer", "model.final_layernorm"),
    Family("persimmon", "PersimmonForCausalLM", "layer", "model.final_layernorm"),
    Family(
        "stablelm",
        "StableLmForCausalLM",
        "layer",
        "model.norm",
        extra=lambda s: {"num_key_value_heads": s.heads},
    ),
    Family("starcoder2", "Starcoder2ForCausalLM", "layer", "model.norm", extra=_grouped),
    Family("cohere", "CohereForCausalLM", "layer", "model.norm", extra=_grouped),
    Family("cohere2", "Cohere2ForCausalLM", "layer", "model.norm", extra=_grouped),
    Family("olmo", "OlmoForCausalLM", "layer", "model.norm", offset=None),
    Family("nemotron", "NemotronForCausalLM", "layer", "model.norm", extra=_explicit_head, offset=1.0),
    Family(
        "mpt",
        "MptForCausalLM",
        "layer",
        "transformer.norm_f",
        ("d_model", "n_layers", "n_heads", "expansion_ratio"),
        lambda s: {"expansion_ratio": 2, "max_seq_len": 128},
    ),
    Family(
        "xglm", "XGLMForCausalLM", "layer", "model.layer_norm", ("d_model", "num_layers", "attention_heads", "ffn_dim")
    ),
    Family("biogpt", "BioGptForCausalLM", "layer", "biogpt.layer_norm"),
    Family("rwkv", "RwkvForCausalLM", "layer", "rwkv.ln_out", extra=lambda s: {"attention_hidden_size": s.width}),
    Family("ctrl", "CTRLLMHeadModel", "layer", "transformer.layernorm", ("n_embd", "n_layer", "n_head", "dff")),
    Family("openai-gpt", "OpenAIGPTLMHeadModel", "layer", "transformer.h.{last}.ln_2", GPT),
    Family("modernbert-decoder", "ModernBertDecoderForCausalLM", "layer", "model.final_norm", extra=_numbered),
)

_LAYER_NORM_ENCODERS = (
    Family("bert", "BertModel", "layer", _BERT_NORM),
    Family("bert-mlm", "BertForMaskedLM", "layer", f"bert.{_BERT_NORM}"),
    Family("roberta", "RobertaModel", "layer", _BERT_NORM, extra=lambda s: {"pad_token_id": 1}),
    Family("electra", "ElectraModel", "layer", _BERT_NORM, extra=lambda s: {"embedding_size": s.width}),
    Family("deberta-v2", "DebertaV2Model", "layer", _BERT_NORM),
    Family("mpnet", "MPNetModel", "layer", _BERT_NORM, extra=lambda s: {"pad_token_id": 1}),
    Family(
        "distilbert",
        "DistilBertModel",
        "layer",
        "transformer.layer.{last}.output_layer_norm",
        ("dim", "n_layers", "n_heads", "hidden_dim"),
    ),
    Family(
        "albert",
        "AlbertModel",
        "layer",
        "encoder.albert_layer_groups.0.albert_layers.0.full_layer_layer_norm",
        extra=lambda s: {"embedding_size": s.width // 2},
    ),
    Family("nomic-bert", "NomicBertModel", "layer", "layers.{last}.post_mlp_layernorm", extra=_numbered),
    Family("modernbert", "ModernBertModel", "layer", "final_norm", extra=_numbered),
    Family(
        "roberta-prelayernorm", "RobertaPreLayerNormModel", "layer", "LayerNorm", extra=lambda s: {"pad_token_id": 1}
    ),
    Family("megatron-bert", "MegatronBertModel", "layer", "encoder.ln"),
    Family("esm", "EsmModel", "layer", "encoder.emb_layer_norm_after", extra=lambda s: {"pad_token_id": 1}),
    Family(
        "xlnet",
        "XLNetModel",
        "layer",
        "layer.{last}.ff.layer_norm",
        ("d_model", "n_layer", "n_head", "d_inner"),
        by_order=True,
    ),
    Family(
        "bart",
        "BartModel",
        "layer",
        "decoder.layers.{last}.final_layer_norm",
        ("d_model", "decoder_layers", "decoder_attention_heads", "decoder_ffn_dim"),
        _encoder_decoder,
        "tokens-twice",
    ),
    Family("clip-text", "CLIPTextModel", "layer", "final_layer_norm", extra=_numbered),
)

_LAYER_NORM_VISION = (
    Family("vit", "ViTModel", "layer", "layernorm", extra=_picture, food="pixels"),
    Family("deit", "DeiTModel", "layer", "layernorm", extra=_picture, food="pixels"),
    Family("dinov2", "Dinov2Model", "layer", "layernorm", extra=_picture, food="pixels"),
    Family("dinov3-vit", "DINOv3ViTModel", "layer", "norm", extra=_picture, food="pixels"),
    Family(
        "vit-mae",
        "ViTMAEModel",
        "layer",
        "layernorm",
        extra=lambda s: {**_picture(s), "mask_ratio": 0.0},
        food="pixels",
    ),
    Family("ijepa", "IJepaModel", "layer", "layernorm", extra=_picture, food="pixels"),
    Family(
        "swin",
        "SwinModel",
        "layer",
        "layernorm",
        ("embed_dim", "unused_layers", "unused_heads", "unused_ffn"),
        lambda s: {
            "image_size": PICTURE,
            "patch_size": 2,
            "depths": [1] * s.layers,
            "num_heads": [s.heads] * s.layers,
            "window_size": 4,
        },
        "pixels",
    ),
    Family("clip-vision", "CLIPVisionModel", "layer", "post_layernorm", extra=_picture, food="pixels", by_order=True),
    Family("siglip-vision", "SiglipVisionModel", "layer", "post_layernorm", extra=_picture, food="pixels"),
    Family("beit", "BeitModel", "layer", "pooler.layernorm", extra=_picture, food="pixels", by_order=True),
    Family(
        "convnext",
        "ConvNextModel",
        "layer",
        "layernorm",
        ("unused_width", "unused_layers", "unused_heads", "unused_ffn"),
        lambda s: {"hidden_sizes": [s.width] * s.layers, "depths": [1] * s.layers, "num_stages": s.layers},
        "pixels",
        by_order=True,
    ),
)

_RMS_NORM = (
    *(
        Family(name, architecture, "rms", "model.norm", extra=_grouped)
        for name, architecture in (
            ("llama", "LlamaForCausalLM"),
            ("mistral", "MistralForCausalLM"),
            ("qwen2", "Qwen2ForCausalLM"),
            ("phi3", "Phi3ForCausalLM"),
            ("olmo2", "Olmo2ForCausalLM"),
            ("olmo3", "Olmo3ForCausalLM"),
            ("granite", "GraniteForCausalLM"),
            ("smollm3", "SmolLM3ForCausalLM"),
            ("bitnet", "BitNetForCausalLM"),
        )
    ),
    *(
        Family(name, architecture, "rms", "model.norm", extra=_explicit_head)
        for name, architecture in (
            ("qwen3", "Qwen3ForCausalLM"),
            ("glm", "GlmForCausalLM"),
            ("glm4", "Glm4ForCausalLM"),
        )
    ),
    *(
        Family(name, architecture, "rms", "model.norm", extra=_explicit_head, offset=1.0)
        for name, architecture in (
            ("gemma", "GemmaForCausalLM"),
            ("gemma2", "Gemma2ForCausalLM"),
            ("gemma3", "Gemma3ForCausalLM"),
            ("vaultgemma", "VaultGemmaForCausalLM"),
        )
    ),
    Family(
        "gemma4",
        "Gemma4ForCausalLM",
        "rms",
        "model.norm",
        extra=lambda s: {
            **_explicit_head(s),
            "hidden_size_per_layer_input": s.head,
            "vocab_size_per_layer_input": s.vocabulary,
            "layer_types": ["sliding_attention"] * (s.layers - 1) + ["full_attention"],
        },
    ),
    Family("nanochat", "NanoChatForCausalLM", "rms", "model.norm", extra=_grouped, offset=None),
    Family("mixtral", "MixtralForCausalLM", "rms", "model.norm", extra=_experts),
    Family("gpt-oss", "GptOssForCausalLM", "rms", "model.norm", extra=lambda s: {**_experts(s), "head_dim": s.head}),
    Family("mamba", "MambaForCausalLM", "rms", "backbone.norm_f"),
    Family(
        "mamba2",
        "Mamba2ForCausalLM",
        "rms",
        "backbone.norm_f",
        ("hidden_size", "num_hidden_layers", "num_heads", "unused_ffn"),
        lambda s: {"head_dim": 2 * s.head, "state_size": s.head, "n_groups": 1},
    ),
    Family(
        "t5",
        "T5ForConditionalGeneration",
        "rms",
        "decoder.final_layer_norm",
        ("d_model", "num_layers", "num_heads", "d_ff"),
        lambda s: {"d_kv": s.head, "decoder_start_token_id": 0},
        "tokens-twice",
    ),
)

FAMILIES: dict[str, Family] = {
    family.name: family for family in (*_LAYER_NORM_DECODERS, *_LAYER_NORM_ENCODERS, *_LAYER_NORM_VISION, *_RMS_NORM)
}


def family_of(name: str) -> Family:
    """Return the family ``name``.

    Raises:
        UsageError: there is none.
    """
    if name not in FAMILIES:
        raise UsageError(f"there is no model family {name!r}", near(name, FAMILIES))
    return FAMILIES[name]
