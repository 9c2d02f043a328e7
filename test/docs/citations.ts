import { readFile, readdir } from 'node:fs/promises';
import { join, posix } from 'node:path';

/** A repository: the contents of its text files by path, and the paths of all its files. */
export interface Tree {
  readonly texts: ReadonlyMap<string, string>;
  readonly paths: ReadonlySet<string>;
}

/** The target of a citation: a file, and the anchor of one of its headings. */
interface Citation {
  readonly file: string;
  readonly anchor: string | null;
}

const textFileNamePattern =
  /\.(?:tsx?|mjs|sql|md|ya?ml|conf|css|html|sh)$|(?:^|\/)(?:Dockerfile|\.env\.example)$/;
const skippedFolders = new Set(['node_modules', 'dist', '.git', '.data']);
/** Files whose texts cite paths of other repositories, or contain wrong citations as test data. */
const filesWithForeignCitations = /^(?:service-templates|test\/catalogue\/checks|test\/docs)\//;

/** Reads every file of the repository that may cite a document. */
export async function readTree(root: string): Promise<Tree> {
  const paths = new Set<string>();
  const texts = new Map<string, string>();
  const readFolder = async (folder: string): Promise<void> => {
    paths.add(folder === '' ? '.' : folder);
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      const path = posix.join(folder, entry.name);
      if (entry.isDirectory() && !skippedFolders.has(entry.name)) await readFolder(path);
      if (!entry.isFile()) continue;
      paths.add(path);
      if (textFileNamePattern.test(path)) texts.set(path, await readFile(join(root, path), 'utf8'));
    }
  };
  await readFolder('');
  return { texts, paths };
}

/** Returns every citation of a document or heading that does not exist, as `path: citation`. */
export function findBrokenCitations({ texts, paths }: Tree): string[] {
  const knownAnchors = new Map<string, ReadonlySet<string>>();
  const anchorsIn = (file: string): ReadonlySet<string> => {
    const anchors = knownAnchors.get(file) ?? new Set(anchorsOf(texts.get(file) ?? ''));
    knownAnchors.set(file, anchors);
    return anchors;
  };
  const isBroken = ({ file, anchor }: Citation) =>
    !paths.has(file) || (anchor !== null && !anchorsIn(file).has(anchor));
  return [...texts]
    .filter(([path]) => !filesWithForeignCitations.test(path))
    .flatMap(([path, text]) =>
      citationsIn(path, text)
        .filter(isBroken)
        .map(({ file, anchor }) => `${path}: ${file}${anchor === null ? '' : `#${anchor}`}`),
    );
}

/**
 * Finds `docs/….md#anchor` in any file, and in a Markdown file also the links to files of the
 * repository.
 */
export function citationsIn(path: string, text: string): Citation[] {
  const plainCitations = [...text.matchAll(/(?<![\w./-])(docs\/[\w./-]+\.md)(?:#([\w-]+))?/g)].map(
    ([, file = '', anchor]): Citation => ({ file, anchor: anchor ?? null }),
  );
  return path.endsWith('.md') ? [...plainCitations, ...linksIn(path, text)] : plainCitations;
}

function linksIn(path: string, text: string): Citation[] {
  const linkTargets = [...withoutCode(text).matchAll(/\]\(([^()\s]+)\)/g)].map(([, to = '']) => to);
  return linkTargets
    .filter((to) => !/^[a-z]+:/.test(to))
    .map((to) => {
      const [target = '', anchor = null] = to.split('#');
      const file = posix.normalize(posix.join(posix.dirname(path), target)).replace(/\/$/, '');
      return { file: target === '' ? path : file, anchor };
    });
}

/**
 * Returns the anchors that GitHub gives to the headings of a Markdown text. If there is a second
 * heading `States`, its anchor is `states-1`.
 */
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

/** Returns the comments that cite a document outside this repository, as `path: comment`. */
export function findUnpublishedCitations({ texts }: Pick<Tree, 'texts'>): string[] {
  return [...texts]
    .filter(([path]) => !filesWithForeignCitations.test(path))
    .flatMap(([path, text]) =>
      text
        .split('\n')
        .map((line) => (path.endsWith('.md') ? line : commentIn(line)).trim())
        .filter((comment) => unpublishedPattern.test(comment))
        .map((comment) => `${path}: ${comment}`),
    );
}

const unpublishedPattern =
  /\((?:decisions|spec|reliability)[:,]|\b(?:Decisions|Spec|Reliability): |\bdecisions,? section\b|\bthreat [A-Z]\d/;

/**
 * Returns the part of a line of code that is a comment: the text from a comment sign on, or the
 * whole line within a block comment.
 */
function commentIn(line: string): string {
  return /^\s*(?:\*|--|#).*|(?:\/\/|\/\*).*/.exec(line)?.[0] ?? '';
}
