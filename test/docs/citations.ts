import { readFile, readdir } from 'node:fs/promises';
import { join, posix } from 'node:path';

/** The text files of a repository by their paths, and every path there is. */
export interface Tree {
  readonly texts: ReadonlyMap<string, string>;
  readonly paths: ReadonlySet<string>;
}

/** Where a text points to: a file, and the anchor of one of its headings. */
interface Citation {
  readonly file: string;
  readonly anchor: string | null;
}

const textual =
  /\.(?:tsx?|mjs|sql|md|ya?ml|conf|css|html|sh)$|(?:^|\/)(?:Dockerfile|\.env\.example)$/;
const skippedFolders = new Set(['node_modules', 'dist', '.git', '.data']);
/** Their texts are about paths of other repositories, or are samples of what is wrong. */
const ofOthers = /^(?:service-templates|test\/catalogue\/checks|test\/docs)\//;

/** Reads everything that may cite a document. */
export async function readTree(root: string): Promise<Tree> {
  const paths = new Set<string>();
  const texts = new Map<string, string>();
  const walk = async (folder: string): Promise<void> => {
    paths.add(folder === '' ? '.' : folder);
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      const path = posix.join(folder, entry.name);
      if (entry.isDirectory() && !skippedFolders.has(entry.name)) await walk(path);
      if (!entry.isFile()) continue;
      paths.add(path);
      if (textual.test(path)) texts.set(path, await readFile(join(root, path), 'utf8'));
    }
  };
  await walk('');
  return { texts, paths };
}

/** Every citation of a document that leads nowhere, as `path: citation`. */
export function findBroken({ texts, paths }: Tree): string[] {
  const known = new Map<string, ReadonlySet<string>>();
  const anchorsIn = (file: string): ReadonlySet<string> => {
    const anchors = known.get(file) ?? new Set(anchorsOf(texts.get(file) ?? ''));
    known.set(file, anchors);
    return anchors;
  };
  const isBroken = ({ file, anchor }: Citation) =>
    !paths.has(file) || (anchor !== null && !anchorsIn(file).has(anchor));
  return [...texts]
    .filter(([path]) => !ofOthers.test(path))
    .flatMap(([path, text]) =>
      citationsIn(path, text)
        .filter(isBroken)
        .map(({ file, anchor }) => `${path}: ${file}${anchor === null ? '' : `#${anchor}`}`),
    );
}

/** `docs/….md#anchor` wherever it stands, and the links of a Markdown file to files of the repository. */
export function citationsIn(path: string, text: string): Citation[] {
  const plain = [...text.matchAll(/(?<![\w./-])(docs\/[\w./-]+\.md)(?:#([\w-]+))?/g)].map(
    ([, file = '', anchor]): Citation => ({ file, anchor: anchor ?? null }),
  );
  return path.endsWith('.md') ? [...plain, ...linksIn(path, text)] : plain;
}

function linksIn(path: string, text: string): Citation[] {
  const links = [...withoutCode(text).matchAll(/\]\(([^()\s]+)\)/g)].map(([, to = '']) => to);
  return links
    .filter((to) => !/^[a-z]+:/.test(to))
    .map((to) => {
      const [target = '', anchor = null] = to.split('#');
      const file = posix.normalize(posix.join(posix.dirname(path), target)).replace(/\/$/, '');
      return { file: target === '' ? path : file, anchor };
    });
}

/** What GitHub calls the headings of a Markdown text; of the second `States` it makes `states-1`. */
export function anchorsOf(text: string): string[] {
  const counts = new Map<string, number>();
  return [...withoutFences(text).matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, heading = '']) => {
    const slug = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
      .replaceAll(' ', '-');
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
}

function withoutFences(text: string): string {
  return text.replaceAll(/^```.*?^```/gms, '');
}

function withoutCode(text: string): string {
  return withoutFences(text).replaceAll(/`[^`\n]*`/g, '');
}

/** Comments that cite a document which is not published, as `path: comment`. */
export function findUnpublished({ texts }: Pick<Tree, 'texts'>): string[] {
  return [...texts]
    .filter(([path]) => !ofOthers.test(path))
    .flatMap(([path, text]) =>
      text
        .split('\n')
        .map((line) => (path.endsWith('.md') ? line : commentIn(line)).trim())
        .filter((comment) => unpublished.test(comment))
        .map((comment) => `${path}: ${comment}`),
    );
}

const unpublished =
  /\((?:decisions|spec|reliability)[:,]|\b(?:Decisions|Spec|Reliability): |\bdecisions,? section\b|\bthreat [A-Z]\d/;

/** What of a line of code is a comment: from its marks on, or all of a line within a longer one. */
function commentIn(line: string): string {
  return /^\s*(?:\*|--|#).*|(?:\/\/|\/\*).*/.exec(line)?.[0] ?? '';
}
