import { posix } from 'node:path';

/**
 * The most production files in one folder of a component. A larger folder probably contains two
 * nouns.
 */
const filesPerFolderMax = 25;

const components = [
  'approvals',
  'audit',
  'auth',
  'executor',
  'gateway',
  'notifier',
  'policy',
  'registry',
];

/**
 * Returns the faults in the dependencies of a source tree, one sentence for each:
 *
 * - files that import each other in a circle; `import type` also counts, because a reader follows
 *   it too;
 * - files in `domain/` that import a file of the same component outside `domain/`, or that read the
 *   clock or a source of randomness; SQL statements outside `*.sql.ts`;
 * - folders of a component, or imports between these folders (arrows), that its README does not
 *   list below `## Nouns`; listed arrows that no import uses; arrows that form a circle;
 * - folders of a component with more than 25 production files.
 *
 * @param sources The contents of all files by path, from the root of the repository, with `/`. They
 * must include `package.json` and the READMEs of the components.
 */
export function findFaults(sources: ReadonlyMap<string, string>): string[] {
  const imports = readImports(sources);
  return [
    ...findCircles(imports).map(
      (circle) => `Files import each other in a circle: ${circle.join(', ')}`,
    ),
    ...findImpureDomains(imports),
    ...findMisplacedText(sources),
    ...components.flatMap((component) => [
      ...findCrowdedFolders(component, imports),
      ...findNounFaults(component, sources.get(`${component}/README.md`) ?? '', imports),
    ]),
  ];
}

type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Reads the import graph: for each production file, the files of the tree that it imports,
 * including imports of types only.
 */
function readImports(sources: ReadonlyMap<string, string>): ImportGraph {
  const subpaths = readSubpaths(sources.get('package.json') ?? '{}');
  const graph = new Map<string, Set<string>>();
  for (const [file, source] of sources) {
    if (!isProductionFile(file)) continue;
    const targets = readSpecifiers(source).flatMap((specifier) => {
      const target = resolveSpecifier(file, specifier, subpaths);
      return target !== undefined && target !== file && sources.has(target) ? [target] : [];
    });
    graph.set(file, new Set(targets));
  }
  return graph;
}

const isProductionFile = (file: string) =>
  /\.tsx?$/.test(file) &&
  !/\.(test|testing)\.tsx?$/.test(file) &&
  !/\.(integration|e2e)\./.test(file) &&
  !file.startsWith('test/');

function readSpecifiers(source: string): string[] {
  const statements =
    /^(?:import|export)\b[^'";]*?\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm;
  return [...source.matchAll(statements)].map(
    ([, from, unnamed, dynamic]) => from ?? unnamed ?? dynamic ?? '',
  );
}

type Subpaths = readonly (readonly [prefix: string, suffix: string | undefined, target: string])[];

function readSubpaths(packageJson: string): Subpaths {
  const { imports = {} } = JSON.parse(packageJson) as { imports?: Record<string, string> };
  return Object.entries(imports).map(([name, target]) => {
    const [prefix = '', suffix] = name.split('*');
    return [prefix, suffix, posix.normalize(target)] as const;
  });
}

function resolveSpecifier(file: string, specifier: string, subpaths: Subpaths): string | undefined {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(file), specifier);
  for (const [prefix, suffix, target] of subpaths) {
    if (suffix === undefined && specifier === prefix) return target;
    if (suffix !== undefined && specifier.startsWith(prefix)) {
      return target.replace('*', specifier.slice(prefix.length));
    }
  }
  return undefined;
}

/**
 * Finds the circles in the graph: its strongly connected components with more than one node
 * (Tarjan's algorithm), each of them sorted.
 */
function findCircles(graph: ImportGraph): string[][] {
  const visitIndexes = new Map<string, number>();
  const lowestIndexes = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];

  const visit = (node: string) => {
    visitIndexes.set(node, visitIndexes.size);
    lowestIndexes.set(node, visitIndexes.get(node)!);
    stack.push(node);
    for (const target of graph.get(node) ?? []) {
      if (!visitIndexes.has(target)) visit(target);
      if (stack.includes(target)) {
        lowestIndexes.set(node, Math.min(lowestIndexes.get(node)!, lowestIndexes.get(target)!));
      }
    }
    if (lowestIndexes.get(node) !== visitIndexes.get(node)) return;
    const connectedNodes = stack.splice(stack.indexOf(node));
    if (connectedNodes.length > 1) circles.push(connectedNodes.toSorted());
  };

  for (const node of graph.keys()) if (!visitIndexes.has(node)) visit(node);
  return circles;
}

function findImpureDomains(graph: ImportGraph): string[] {
  return [...graph].flatMap(([file, targets]) => {
    const component = componentOf(file);
    if (component === undefined || !file.includes('/domain/')) return [];
    return [...targets]
      .filter((target) => componentOf(target) === component && !target.includes('/domain/'))
      .map((target) => `${file} is in domain/ and imports ${target}, which is not.`);
  });
}

/**
 * Matches an SQL statement. It is written as a tagged template; the tag is a pool or a transaction.
 */
const sqlTemplatePattern = /\b(?:sql|tx|db)(?:<[^`]*>)?\s*`/;
/**
 * Matches code that reads the clock or a source of randomness. Pure rules get time and randomness
 * as arguments.
 */
const impureCallPattern =
  /\b(?:Date\.now|performance\.now|Math\.random|randomUUID\w*|randomBytes|uuidv7)\(|new Date\(\)/;

function findMisplacedText(sources: ReadonlyMap<string, string>): string[] {
  return [...sources].flatMap(([file, source]) => {
    if (componentOf(file) === undefined || !isProductionFile(file)) return [];
    return [
      ...(sqlTemplatePattern.test(source) && !file.endsWith('.sql.ts')
        ? [`${file} has a statement of SQL; its place is <noun>/<table>.sql.ts.`]
        : []),
      ...(file.includes('/domain/') && impureCallPattern.test(source)
        ? [`${file} is in domain/ and reads the clock or a source of randomness.`]
        : []),
    ];
  });
}

const componentOf = (file: string) =>
  components.find((component) => file.startsWith(`${component}/`));

function findCrowdedFolders(component: string, graph: ImportGraph): string[] {
  const counts = new Map<string, number>();
  for (const file of graph.keys()) {
    const folder = posix.dirname(file);
    if (!folder.startsWith(`${component}/`)) continue;
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > filesPerFolderMax)
    .map(
      ([folder, count]) =>
        `${folder}/ has ${count} production files, more than ${filesPerFolderMax}.`,
    );
}

function findNounFaults(component: string, readme: string, graph: ImportGraph): string[] {
  const listedArrows = readNouns(readme);
  const usedArrows = readArrows(component, graph);
  const faults: string[] = [];
  for (const [noun, targets] of usedArrows) {
    const allowedTargets = listedArrows.get(noun);
    if (allowedTargets === undefined) {
      faults.push(`${component}/README.md does not list the folder ${noun}/ below "## Nouns".`);
      continue;
    }
    for (const [target, example] of targets) {
      if (!allowedTargets.has(target)) {
        faults.push(
          `${example}, but ${component}/README.md does not say that ${noun}/ uses ${target}/.`,
        );
      }
    }
  }
  for (const [noun, targets] of listedArrows) {
    if (!usedArrows.has(noun))
      faults.push(`${component}/README.md lists ${noun}/, which does not exist.`);
    for (const target of targets) {
      if (!usedArrows.get(noun)?.has(target)) {
        faults.push(
          `${component}/README.md says that ${noun}/ uses ${target}/; nothing in it does.`,
        );
      }
    }
  }
  for (const circle of findCircles(listedArrows)) {
    faults.push(`Folders of ${component} use each other in a circle: ${circle.join(', ')}`);
  }
  return faults;
}

/** Reads the table below `## Nouns`: each folder, and the folders that it uses. */
function readNouns(readme: string): Map<string, Set<string>> {
  const [, section = ''] = /^## Nouns$([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(readme) ?? [];
  const rows = section.matchAll(/^\| `([\w-]+)\/` \|.*\|([^|]*)\|$/gm);
  return new Map(
    [...rows].map(([, noun = '', uses = '']) => [
      noun,
      new Set([...uses.matchAll(/`([\w-]+)\/`/g)].map(([, target = '']) => target)),
    ]),
  );
}

/**
 * For each folder of a component, the other folders that its files import, each with an example of
 * such an import.
 */
function readArrows(component: string, graph: ImportGraph): Map<string, Map<string, string>> {
  const nounOf = (file: string) =>
    componentOf(file) === component ? /^[^/]+\/([^/]+)\//.exec(file)?.[1] : undefined;
  const arrows = new Map<string, Map<string, string>>();
  for (const [file, targets] of graph) {
    const noun = nounOf(file);
    if (noun === undefined) continue;
    const arrowsOfNoun = arrows.get(noun) ?? new Map<string, string>();
    arrows.set(noun, arrowsOfNoun);
    for (const target of targets) {
      const targetNoun = nounOf(target);
      if (targetNoun !== undefined && targetNoun !== noun)
        arrowsOfNoun.set(targetNoun, `${file} imports ${target}`);
    }
  }
  return arrows;
}
