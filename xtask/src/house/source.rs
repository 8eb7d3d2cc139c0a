//! One source file, reduced to what the rules are about. Code for tests is left out.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, FnArg, Item, Signature, Type, UseTree};

/// Characters of a line.
pub const COLUMNS: usize = 100;

/// What a file holds.
#[derive(Default)]
pub struct SourceFile {
    /// `crates/node`.
    pub package: String,
    /// `transport/zenoh.rs`.
    pub module: String,
    /// Lines without tests.
    pub lines: usize,
    /// Its functions, methods included.
    pub functions: Vec<Function>,
    /// Paths that begin with `crate`, `super` or `self`, and every path of a `use`.
    pub paths: BTreeSet<Vec<String>>,
    /// What the file makes public under another path: the last name, and where it comes from.
    pub exports: Vec<(String, Vec<String>)>,
    /// Words that it matches or compares with.
    pub words: BTreeSet<String>,
    /// Modules that it declares.
    pub modules: BTreeSet<String>,
    /// Types that it makes public.
    pub types: Vec<String>,
    /// Lines that are too wide, counted from 1.
    pub wide: Vec<usize>,
    /// Inside `a == b`.
    comparing: bool,
}

/// One function.
pub struct Function {
    /// Its name.
    pub name: String,
    /// From `fn` to the closing brace.
    pub lines: usize,
    /// Beside `self`.
    pub parameters: usize,
    /// How many of them are tuples.
    pub tuples: usize,
}

impl SourceFile {
    /// Reads a file of a crate; `module` is its path below `src`.
    pub fn parse(package: &str, module: &str, text: &str) -> syn::Result<Self> {
        let file = syn::parse_file(text)?;
        let mut source = Self {
            package: package.into(),
            module: module.into(),
            lines: text.lines().count(),
            wide: (1..)
                .zip(text.lines())
                .filter(|(_, line)| line.chars().count() > COLUMNS)
                .map(|(number, _)| number)
                .collect(),
            ..Self::default()
        };
        source.visit_file(&file);
        Ok(source)
    }

    /// The modules that lead to this file, the crate's root not counted.
    pub fn module_path(&self) -> Vec<String> {
        let mut parts: Vec<String> =
            self.module.trim_end_matches(".rs").split('/').map(String::from).collect();
        if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            parts.pop();
        }
        parts
    }

    fn function(&mut self, signature: &Signature, end: usize) {
        let typed = |argument: &&FnArg| matches!(argument, FnArg::Typed(_));
        let is_tuple = |argument: &&FnArg| match argument {
            FnArg::Typed(argument) => is_tuple(&argument.ty),
            FnArg::Receiver(_) => false,
        };
        self.functions.push(Function {
            name: signature.ident.to_string(),
            lines: end + 1 - signature.fn_token.span.start().line,
            parameters: signature.inputs.iter().filter(typed).count(),
            tuples: signature.inputs.iter().filter(is_tuple).count(),
        });
    }

    fn declared(&mut self, visibility: &syn::Visibility, name: &syn::Ident) {
        if matches!(visibility, syn::Visibility::Public(_)) {
            self.types.push(name.to_string());
        }
    }

    fn use_tree(&mut self, tree: &UseTree, before: &[String], public: bool) {
        let with = |name: &dyn ToString| [before, &[name.to_string()]].concat();
        let (path, name) = match tree {
            UseTree::Path(path) => return self.use_tree(&path.tree, &with(&path.ident), public),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.use_tree(tree, before, public));
            }
            UseTree::Name(name) => (with(&name.ident), name.ident.to_string()),
            UseTree::Rename(name) => (with(&name.ident), name.rename.to_string()),
            UseTree::Glob(_) => (before.to_vec(), "*".into()),
        };
        if public {
            self.exports.push((name, path.clone()));
        }
        self.paths.insert(path);
    }

    /// Paths in the tokens of a macro, which are not parsed.
    fn tokens(&mut self, tokens: TokenStream, matching: bool) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if colons == 2 => path.push(ident.to_string()),
                TokenTree::Ident(ident) => self.end_of_path(&mut path, Some(ident.to_string())),
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.end_of_path(&mut path, None);
                    self.tokens(group.stream(), matching);
                }
                TokenTree::Literal(literal) => {
                    self.end_of_path(&mut path, None);
                    if matching {
                        self.words.insert(literal.to_string().trim_matches('"').into());
                    }
                }
                _ => self.end_of_path(&mut path, None),
            }
            colons = 0;
        }
        self.end_of_path(&mut path, None);
    }

    fn end_of_path(&mut self, path: &mut Vec<String>, next: Option<String>) {
        let done = std::mem::replace(path, next.into_iter().collect());
        self.note(done);
    }

    fn note(&mut self, path: Vec<String>) {
        if path.len() > 1 && ["crate", "self", "super"].contains(&path[0].as_str()) {
            self.paths.insert(path);
        }
    }
}

fn is_tuple(given: &Type) -> bool {
    match given {
        Type::Tuple(tuple) => !tuple.elems.is_empty(),
        Type::Reference(reference) => is_tuple(&reference.elem),
        Type::Paren(inner) => is_tuple(&inner.elem),
        _ => false,
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let meta = &attribute.meta;
        meta.path().is_ident("test")
            || (meta.path().is_ident("cfg")
                && attribute.parse_args::<syn::Path>().is_ok_and(|given| given.is_ident("test")))
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn names(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

impl<'a> Visit<'a> for SourceFile {
    fn visit_item(&mut self, item: &'a Item) {
        if is_for_tests(attributes(item)) {
            let span = item.span();
            self.lines -= span.end().line + 1 - span.start().line;
            // Its file is one that is declared, all the same.
            if let Item::Mod(module) = item {
                self.modules.insert(module.ident.to_string());
            }
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        let public = !matches!(item.vis, syn::Visibility::Inherited);
        self.use_tree(&item.tree, &[], public);
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.function(&item.sig, item.span().end().line);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            self.function(&item.sig, item.span().end().line);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        self.function(&item.sig, item.span().end().line);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_expr_binary(&mut self, expression: &'a syn::ExprBinary) {
        let before = self.comparing;
        self.comparing = matches!(expression.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_));
        visit::visit_expr_binary(self, expression);
        self.comparing = before;
    }

    fn visit_pat(&mut self, pattern: &'a syn::Pat) {
        // A literal path in a pattern is an expression to syn.
        let before = std::mem::replace(&mut self.comparing, true);
        visit::visit_pat(self, pattern);
        self.comparing = before;
    }

    fn visit_type(&mut self, given: &'a Type) {
        let before = std::mem::take(&mut self.comparing);
        visit::visit_type(self, given);
        self.comparing = before;
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.note(names(path));
        visit::visit_path(self, path);
    }

    fn visit_lit_str(&mut self, word: &'a syn::LitStr) {
        if self.comparing {
            self.words.insert(word.value());
        }
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        self.modules.insert(item.ident.to_string());
        visit::visit_item_mod(self, item);
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.declared(&item.vis, &item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.declared(&item.vis, &item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.declared(&item.vis, &item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_macro(&mut self, called: &'a syn::Macro) {
        let matching = called.path.is_ident("matches");
        self.note(names(&called.path));
        // Most macros take expressions: then they are read as such.
        let expressions = Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        match called.parse_body_with(expressions) {
            Ok(expressions) if !matching => {
                expressions.iter().for_each(|expression| self.visit_expr(expression));
            }
            _ => self.tokens(called.tokens.clone(), matching),
        }
    }
}
