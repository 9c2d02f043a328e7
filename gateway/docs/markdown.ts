import { posix } from 'node:path';

import { Marked } from 'marked';

import { escapeHtml } from '#pages';

/** A heading of the second level, with the anchor that leads to it. */
export interface Section {
  readonly anchor: string;
  readonly title: string;
}

interface RenderedMarkdown {
  readonly title: string;
  /** The HTML of the page without its title. */
  readonly html: string;
  readonly sections: readonly Section[];
}

interface LinkOptions {
  /**
   * The file of the text, such as `reference/errors.md`. The links in the text are relative to this
   * file.
   */
  readonly file: string;
  /** Returns the address of the page made from a file, or undefined if there is none. */
  readonly addressOf: (file: string) => string | undefined;
}

/**
 * Finds the links in a Markdown text that lead to files that are not served, and replaces each by
 * its words. Links to other sites and to addresses of this gateway stay.
 */
export function withoutDeadLinks(text: string, { file, addressOf }: LinkOptions): string {
  return text.replaceAll(
    /^```.*?^```|`[^`\n]*`|!?\[((?:[^\]`]|`[^`\n]*`)*)\]\(([^()\s]+)\)/gms,
    (whole: string, words: string | undefined, target: string | undefined) =>
      words === undefined || findAddress(target ?? '', { file, addressOf }) !== undefined
        ? whole
        : words,
  );
}

/** Renders Markdown as HTML. HTML in the text is shown as text, and images are left out. */
export function renderMarkdown(text: string, links: LinkOptions): RenderedMarkdown {
  const sections: Section[] = [];
  const anchorOf = createAnchors();
  let title = '';
  const marked = new Marked({
    renderer: {
      heading({ depth, text: words, tokens }) {
        const anchor = anchorOf(words);
        const content = this.parser.parseInline(tokens);
        if (depth === 1) {
          title = plainTextOf(words);
          return `<a id="${escapeHtml(anchor)}"></a>`;
        }
        if (depth === 2) sections.push({ anchor, title: plainTextOf(words) });
        return `<h${depth} id="${escapeHtml(anchor)}">${content}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens);
        const address = findAddress(href, links);
        return address === undefined ? content : `<a href="${escapeHtml(address)}">${content}</a>`;
      },
      image: ({ text: words }) => escapeHtml(words),
      html: ({ text: html }) => escapeHtml(html),
    },
  });
  const html = marked
    .parse(text, { async: false })
    // An empty heading cell is made a data cell, because screen readers announce heading cells.
    // Wide tables and code can be scrolled on their own, also by keyboard. No other text can
    // contain these tags, because HTML is escaped.
    .replaceAll('<th></th>', '<td></td>')
    .replaceAll('<table>', '<div class="scroll" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
    .replaceAll('<pre>', '<pre tabindex="0">');
  return { title, html, sections };
}

function findAddress(target: string, { file, addressOf }: LinkOptions): string | undefined {
  if (/^(https?:\/\/|\/(?!\/)|#)/.test(target)) return target;
  if (/^[a-z][a-z0-9+.-]*:|^\//i.test(target)) return undefined;
  const [path = '', anchor] = target.split('#');
  const address = addressOf(posix.normalize(posix.join(posix.dirname(file), path)));
  if (address === undefined || anchor === undefined) return address;
  return `${address}#${anchor}`;
}

/**
 * Gives headings the same anchors as GitHub does. If a heading occurs again, its anchor gets a
 * number.
 */
function createAnchors(): (heading: string) => string {
  const countsByAnchor = new Map<string, number>();
  return (heading) => {
    const anchor = plainTextOf(heading)
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
      .replaceAll(' ', '-');
    const count = countsByAnchor.get(anchor) ?? 0;
    countsByAnchor.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  };
}

/** Returns the words of a heading without Markdown's marks for links and code. */
function plainTextOf(heading: string): string {
  return heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
}
