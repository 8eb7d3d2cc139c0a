//! A document as its readers meet it: headings, links, pictures and blocks of code.

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// A Markdown file of the repository.
pub struct Document {
    /// From the root of the repository, with slashes.
    pub path: String,
    pub text: String,
}

/// Where a link or a picture leads.
pub struct Link {
    pub target: String,
    pub line: usize,
    /// The target's bytes in the text.
    span: Range<usize>,
}

/// A block of code between fences.
pub struct Block {
    pub language: String,
    /// What a comment right above it says about it: `<!-- run -->`.
    pub order: Option<String>,
    pub line: usize,
    pub code: String,
}

impl Document {
    fn events(&self) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        Parser::new_ext(&self.text, options).into_offset_iter()
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text[..at].bytes().filter(|byte| *byte == b'\n').count()
    }

    /// Every link and picture, those written as HTML among them.
    pub fn links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        for (event, range) in self.events() {
            match event {
                Event::Start(
                    Tag::Link { link_type: LinkType::Inline, dest_url, .. }
                    | Tag::Image { link_type: LinkType::Inline, dest_url, .. },
                ) => links.extend(self.link(&range, &format!("]({dest_url}"), &dest_url)),
                Event::Html(html) | Event::InlineHtml(html) => {
                    for name in ["href", "src"] {
                        for target in attributes(&html, name) {
                            let written = format!("{name}=\"{target}");
                            links.extend(self.link(&range, &written, target));
                        }
                    }
                }
                _ => {}
            }
        }
        links
    }

    /// The link whose target ends what is `written` in this range.
    fn link(&self, range: &Range<usize>, written: &str, target: &str) -> Option<Link> {
        let end = range.start + self.text[range.clone()].rfind(written)? + written.len();
        let span = end - target.len()..end;
        Some(Link { target: target.into(), line: self.line(span.start), span })
    }

    /// The text with other targets, where there are others.
    pub fn relinked(&self, mut target: impl FnMut(&Link) -> Option<String>) -> String {
        let mut links = self.links();
        links.sort_by_key(|link| link.span.start);
        let (mut text, mut done) = (String::new(), 0);
        for link in links {
            if let Some(other) = target(&link) {
                text.push_str(&self.text[done..link.span.start]);
                text.push_str(&other);
                done = link.span.end;
            }
        }
        text + &self.text[done..]
    }

    /// What can stand behind `#` in a link: the headings' names, as code hosts make them.
    pub fn anchors(&self) -> Vec<String> {
        let (mut anchors, mut heading): (Vec<String>, Option<String>) = (Vec::new(), None);
        for (event, _) in self.events() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(text) | Event::Code(text) => {
                    heading.iter_mut().for_each(|heading| heading.push_str(&text));
                }
                Event::End(TagEnd::Heading(_)) => {
                    let name = slug(&heading.take().unwrap_or_default());
                    let numbered = |n: usize| match n {
                        0 => name.clone(),
                        n => format!("{name}-{n}"),
                    };
                    let free = (0..).map(numbered).find(|name| !anchors.contains(name));
                    anchors.extend(free);
                }
                _ => {}
            }
        }
        anchors
    }

    /// Every block of code, in order.
    pub fn blocks(&self) -> Vec<Block> {
        let (mut blocks, mut order, mut open) = (Vec::new(), None, None);
        for (event, range) in self.events() {
            match event {
                Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => {}
                Event::Html(html) => order = comment(&html).or(order),
                Event::Start(Tag::CodeBlock(kind)) => {
                    let language = match kind {
                        CodeBlockKind::Fenced(info) => info.to_string(),
                        CodeBlockKind::Indented => String::new(),
                    };
                    let line = self.line(range.start);
                    open = Some(Block { language, order: order.take(), line, code: String::new() });
                }
                Event::Text(text) if open.is_some() => {
                    open.iter_mut().for_each(|block: &mut Block| block.code.push_str(&text));
                }
                Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
                _ => order = None,
            }
        }
        blocks
    }
}

/// The words of a comment.
fn comment(html: &str) -> Option<String> {
    let words = html.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    Some(words.trim().to_string())
}

/// The values of an attribute in a piece of HTML.
pub fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let parts = html.split(&format!(" {name}=\"")).skip(1).collect::<Vec<_>>();
    parts.into_iter().filter_map(|part| Some(part.split_once('"')?.0)).collect()
}

/// A heading's name in links.
fn slug(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document { path: "docs/page.md".into(), text: text.into() }
    }

    #[test]
    fn links_are_found_and_changed_wherever_they_stand() {
        let page = document("# A\n\n[a](a.md#x) `[no](b.md)` ![p](p.svg)\n\n<img src=\"q.png\">\n");
        let found: Vec<String> = page.links().into_iter().map(|link| link.target).collect();
        assert_eq!(found, ["a.md#x", "p.svg", "q.png"]);
        let other = page.relinked(|link| link.target.strip_suffix(".svg").map(|_| "r.svg".into()));
        assert_eq!(other, page.text.replace("p.svg", "r.svg"));
        assert_eq!(page.links()[1].line, 3);
    }

    #[test]
    fn headings_have_the_names_that_a_code_host_gives_them() {
        let page = document("# What is `x`, exactly?\n\n## Same\n\n## Same\n");
        assert_eq!(page.anchors(), ["what-is-x-exactly", "same", "same-1"]);
    }

    #[test]
    fn a_block_has_the_order_of_the_comment_right_above_it() {
        let page =
            document("<!-- run -->\n```sh\nls\n```\n\n<!-- run -->\n\nno\n\n```sh\nls\n```\n");
        let blocks = page.blocks();
        assert_eq!(blocks[0].order.as_deref(), Some("run"));
        assert_eq!((blocks[0].code.as_str(), blocks[0].line), ("ls\n", 2));
        assert_eq!(blocks[1].order, None);
    }
}
