import { describe, expect, test } from 'vitest';

import { renderMarkdown, withoutDeadLinks } from './markdown.ts';

const links = {
  file: 'reference/calls.md',
  addressOf: (file: string) =>
    ['cli.md', 'reference/errors.md'].includes(file)
      ? `/docs/${file.replace('.md', '')}`
      : undefined,
};
const htmlOf = (text: string) => renderMarkdown(text, links).html;

describe('Markdown', () => {
  test.for<[what: string, text: string, html: string]>([
    ['a link to a file', '[a](../cli.md#b)', '<p><a href="/docs/cli#b">a</a></p>'],
    [
      'a link to a file beside it',
      '[a](errors.md)',
      '<p><a href="/docs/reference/errors">a</a></p>',
    ],
    [
      'a link to another site',
      '[a](https://x.example/b)',
      '<p><a href="https://x.example/b">a</a></p>',
    ],
    ['a link to its own heading', '[a](#b)', '<p><a href="#b">a</a></p>'],
    ['a link to a file that is not served', '[a `b`](../../c.ts)', '<p>a <code>b</code></p>'],
    ['a link to a script', '[a](javascript:alert(1))', '<p>a</p>'],
    ['a link to another host without a scheme', '[a](//x.example)', '<p>a</p>'],
    ['an image', '![a "b"](c.png)', '<p>a &quot;b&quot;</p>'],
    ['HTML', 'a <b onclick="x">c</b>', '<p>a &lt;b onclick=&quot;x&quot;&gt;c&lt;/b&gt;</p>'],
    ['a block of HTML', '<script>x</script>', '&lt;script&gt;x&lt;/script&gt;'],
    ['code with HTML', '`<i>`', '<p><code>&lt;i&gt;</code></p>'],
    ['a heading', '## A `b_c` [d](e.md)', '<h2 id="a-b_c-d">A <code>b_c</code> d</h2>'],
  ])('with %s is rendered as safe HTML', ([, text, html]) => {
    expect(htmlOf(text).trim()).toBe(html);
  });

  test('is rendered with tables that can be scrolled by keyboard and have no empty heading cell', () => {
    const html = htmlOf('| a | |\n|---|---|\n| b | c |');

    expect(html).toContain('<div class="scroll" tabindex="0"><table>');
    expect(html).toContain('<th>a</th>');
    expect(html).not.toContain('<th></th>');
  });

  test('is rendered with numbered anchors if several headings are equal', () => {
    expect(renderMarkdown('# T\n## A\n## A', links)).toMatchObject({
      title: 'T',
      sections: [{ anchor: 'a' }, { anchor: 'a-1' }],
    });
  });

  test('loses its links to files that are not served, except in code; the words of these links stay', () => {
    const text = '[a](../cli.md) [b `]`](x.ts) `[c](x.ts)`\n```md\n[d](x.ts)\n```\n![e](f.png)';

    expect(withoutDeadLinks(text, links)).toBe(
      '[a](../cli.md) b `]` `[c](x.ts)`\n```md\n[d](x.ts)\n```\ne',
    );
  });
});
