import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The used parts of a file that `node --cpu-prof` writes; times are in microseconds. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/**
 * A place where the main thread spent time (a package or folder), and its share of the busy time.
 */
export type ProfileRow = readonly [place: string, share: number];

const rowsMax = 20;

/**
 * Reads the profile of the main thread from a folder. Adds up the time that each place used itself,
 * without the functions that it called.
 */
export async function readProfile(folder: string): Promise<ProfileRow[]> {
  const files = await readdir(folder);
  // The names are CPU.<date>.<time>.<pid>.<thread>.<number>.cpuprofile.
  const file = files.find((name) => name.split('.')[4] === '0');
  if (file === undefined) throw new Error(`no profile of a main thread in ${folder}`);
  const profile = JSON.parse(await readFile(join(folder, file), 'utf8')) as CpuProfile;
  const placeById = new Map(profile.nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  const microseconds = new Map<string, number>();
  for (const [at, id] of profile.samples.entries()) {
    const place = placeById.get(id) ?? '';
    microseconds.set(place, (microseconds.get(place) ?? 0) + (profile.timeDeltas[at] ?? 0));
  }
  microseconds.delete('(idle)');
  const total = [...microseconds.values()].reduce((sum, each) => sum + each, 0);
  return [...microseconds]
    .map(([place, own]): ProfileRow => [place, own / total])
    .toSorted(([, left], [, right]) => right - left)
    .slice(0, rowsMax);
}

function placeOf({ functionName, url }: CpuProfile['nodes'][number]['callFrame']): string {
  if (url === '') return functionName.startsWith('(') ? functionName : 'V8';
  if (!url.startsWith('file:')) return 'Node';
  const path = fileURLToPath(url);
  const packageName = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];
  if (packageName !== undefined) return packageName;
  const [first = '', second = ''] = path.slice(process.cwd().length + 1).split('/');
  return first === 'services-src' ? `${first}/${second}` : first;
}
