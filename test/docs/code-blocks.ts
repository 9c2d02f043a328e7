import { readFile, readdir } from 'node:fs/promises';

/**
 * A code block of a Markdown page. The marks after the language in its first line tell a test what
 * to do with the block. Rendered pages do not show the marks.
 */
export interface CodeBlock {
  /** The page, and the line at which the block begins, as in `README.md:12`. */
  readonly place: string;
  readonly language: string;
  readonly text: string;
  /** The reason why no test runs the block (`skip="…"`); undefined if a test runs it. */
  readonly skip: string | undefined;
  /** The name under which the reader saves the block (`file=agent.mjs`). */
  readonly file: string | undefined;
  /**
   * Whether the block shows what the previous block prints (`output`). In it, `…` stands for any
   * text.
   */
  readonly isOutput: boolean;
  /** The expected status of the block's last failing command (`exit=5`), or 0. */
  readonly exit: number;
  /** What happens while the block runs: `while=deciding` or `while=stopped`. */
  readonly meanwhile: string | undefined;
}

const root = new URL('../../', import.meta.url);
const knownMarks = /^(?:skip="[^"]+"|file=[\w.-]+|output|exit=\d+|while=(?:deciding|stopped))$/;

/** Reads the code blocks of the README and of each guide, by page. The README comes first. */
export async function readTestedPages(): Promise<Map<string, CodeBlock[]>> {
  const guides = await readdir(new URL('docs/guides/', root));
  const pages = ['README.md', ...guides.toSorted().map((name) => `docs/guides/${name}`)];
  const read = async (page: string) =>
    [page, codeBlocksIn(page, await readFile(new URL(page, root), 'utf8'))] as const;
  return new Map(await Promise.all(pages.map(read)));
}

export function codeBlocksIn(page: string, markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let openBlock:
    | { readonly info: string; readonly place: string; readonly lines: string[] }
    | undefined;
  for (const [index, line] of markdown.split('\n').entries()) {
    if (!line.startsWith('```')) openBlock?.lines.push(line);
    else if (openBlock === undefined) {
      openBlock = { info: line.slice(3), place: `${page}:${index + 1}`, lines: [] };
    } else {
      blocks.push(createBlock(openBlock));
      openBlock = undefined;
    }
  }
  if (openBlock !== undefined) throw new Error(`${openBlock.place}: the block has no end`);
  return blocks;
}

function createBlock({
  info,
  place,
  lines,
}: {
  info: string;
  place: string;
  lines: readonly string[];
}): CodeBlock {
  const [language = '', ...marks] = info.match(/[\w-]+="[^"]*"|\S+/g) ?? [];
  const unknown = marks.find((mark) => !knownMarks.test(mark));
  if (unknown !== undefined) throw new Error(`${place}: unknown mark ${unknown}`);
  const valueOf = (name: string) =>
    marks
      .find((mark) => mark.startsWith(`${name}=`))
      ?.slice(name.length + 1)
      .replaceAll('"', '');
  return {
    place,
    language,
    text: lines.join('\n'),
    skip: valueOf('skip'),
    file: valueOf('file'),
    isOutput: marks.includes('output'),
    exit: Number(valueOf('exit') ?? 0),
    meanwhile: valueOf('while'),
  };
}

/**
 * Whether a text matches what the page shows: the parts between the signs `…` occur in the same
 * order. Blanks at the ends of lines are ignored.
 */
export function isAsShown(shown: string, actual: string): boolean {
  const [first = '', ...others] = trimLines(shown).split('…');
  let remainingText = trimLines(actual);
  if (!remainingText.startsWith(first)) return false;
  remainingText = remainingText.slice(first.length);
  for (const part of others) {
    const at = remainingText.indexOf(part);
    if (at === -1) return false;
    remainingText = remainingText.slice(at + part.length);
  }
  return remainingText === '' || others.at(-1) === '';
}

const trimLines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trim();
