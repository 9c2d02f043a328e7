import { readFileSync } from 'node:fs';

import { distance } from 'fastest-levenshtein';

import { components } from '../contracts/vocabulary.ts';
import type { Component } from '../contracts/vocabulary.ts';
import { isServiceVariable } from './service-variables.ts';
import { settings } from './settings.ts';
import type { Setting, SettingName, SettingValue } from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;
export type Config<N extends SettingName> = { readonly [K in N]: SettingValue<K> };

/** Lists every wrong setting at once, one sentence each. A process that gets this error stops. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The settings that a component reads, in the order of its `config.ts`. */
export interface ConfigSpec<N extends SettingName> {
  readonly component: Component | 'provision' | 'start';
  readonly names: readonly N[];
  /** Throws a `ConfigError` for values that have the right form but cannot be used. */
  readonly check?: ((config: Config<N>) => void) | undefined;
}

export function defineConfig<const N extends SettingName>(
  component: ConfigSpec<N>['component'],
  names: readonly N[],
  check?: (config: Config<N>) => void,
): ConfigSpec<N> {
  return { component, names, check };
}

/**
 * Reads a component's settings. Refuses, with its name, every setting that is malformed or missing.
 * Also refuses every variable that resembles a setting but is none, because a misspelt setting
 * would silently have no effect. Variables that Kubernetes sets for its Services are ignored.
 */
export function loadConfig<N extends SettingName>(
  { component, names, check }: ConfigSpec<N>,
  givenEnvironment: Environment,
): Config<N> {
  const environment = withoutServiceVariables(givenEnvironment);
  const problems = findUnknownVariables(environment);
  const values: Partial<Record<SettingName, unknown>> = {};
  for (const name of names) {
    const foundSetting = readSetting(name, component, environment);
    if ('problem' in foundSetting) {
      problems.push(foundSetting.problem);
      continue;
    }
    const result = settings[name].schema.safeParse(foundSetting.value);
    if (result.success) values[name] = result.data;
    else
      problems.push(
        describeProblem(name, foundSetting, result.error.issues[0]?.message ?? 'is not valid'),
      );
  }
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  const config = values as Config<N>;
  check?.(config);
  return config;
}

/**
 * Leaves out the variables that Kubernetes sets for other Services, even those that have the name
 * of a setting.
 */
function withoutServiceVariables(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(
      ([name, value]) => value === undefined || !isServiceVariable(name, value),
    ),
  );
}

type FoundSetting = { sourceVariable: string; value: string | Record<string, string> | undefined };

function readSetting(
  name: SettingName,
  component: string,
  environment: Environment,
): FoundSetting | { problem: string } {
  const setting: Setting = settings[name];
  if (setting.family) return readFamily(name, setting.family, environment);
  const candidates = setting.perComponent ? [`${component.toUpperCase()}_${name}`, name] : [name];
  for (const source of candidates) {
    const value = environment[source];
    if (value !== undefined && value !== '') return { sourceVariable: source, value };
    const file = setting.secret ? environment[`${source}_FILE`] : undefined;
    if (file === undefined) continue;
    try {
      const content = readFileSync(file, 'utf8').trim();
      if (content !== '') return { sourceVariable: `${source}_FILE`, value: content };
    } catch {
      return { problem: `${source}_FILE names a file that cannot be read: ${file}` };
    }
  }
  return { sourceVariable: candidates[0] ?? name, value: undefined };
}

/** Reads all variables of a family that are set, directly or by a file. */
function readFamily(
  name: string,
  family: RegExp,
  environment: Environment,
): FoundSetting | { problem: string } {
  const value: Record<string, string> = {};
  for (const [variable, text] of Object.entries(environment)) {
    if (text === undefined || text === '') continue;
    if (family.test(variable)) value[variable] = text;
    const baseVariable = variable.replace(/_FILE$/, '');
    if (baseVariable === variable || !family.test(baseVariable) || environment[baseVariable])
      continue;
    try {
      const content = readFileSync(text, 'utf8').trim();
      if (content !== '') value[baseVariable] = content;
    } catch {
      return { problem: `${variable} names a file that cannot be read: ${text}` };
    }
  }
  return { sourceVariable: name, value };
}

/** The patterns of the variables of settings that consist of several variables. */
export const settingFamilies: readonly RegExp[] = Object.values<Setting>(settings).flatMap(
  ({ family }) => family ?? [],
);

function isOfFamily(name: string): boolean {
  return settingFamilies.some((family) => family.test(name.replace(/_FILE$/, '')));
}

function describeProblem(
  name: SettingName,
  { sourceVariable: source, value }: FoundSetting,
  message: string,
): string {
  const setting: Setting = settings[name];
  if (value === undefined) return `${source} is not set. ${setting.doc}`;
  const shownValue = setting.secret ? '' : ` (it is ${JSON.stringify(value)})`;
  return `${source} ${message.replace(/^Invalid .*$/, 'is not valid')}${shownValue}. ${setting.doc}`;
}

/** The names of all variables that settings have, except those of `settingFamilies`. */
export const settingVariables: ReadonlySet<string> = new Set(
  Object.entries<Setting>(settings).flatMap(([name, setting]) => {
    const names = setting.perComponent
      ? [
          name,
          ...components.map((component) => `${component.toUpperCase()}_${name}`),
          `PROVISION_${name}`,
        ]
      : [name];
    return setting.secret ? [...names, ...names.map((each) => `${each}_FILE`)] : names;
  }),
);
const settingNames = Object.keys(settings);
/** First words of setting names with which variables of other programs may begin too. */
const sharedFirstWords = new Set([
  'BASE',
  'DATA',
  'DATABASE',
  'HEALTH',
  'LOG',
  'NATS',
  'OTEL',
  'REQUESTS',
]);
/**
 * First words with which only settings of the gateway begin. A variable with such a first word is
 * probably meant as a setting.
 */
const ownFirstWords = new Set(
  settingNames.flatMap((name) => {
    const [word = '', ...rest] = name.split('_');
    return rest.length === 0 || sharedFirstWords.has(word) ? [] : [word];
  }),
);
/** Variables of other programs that resemble settings. */
const foreignVariables = new Set(['HOSTNAME', 'HOSTTYPE', 'NATS', 'POST', 'PORTS', 'HOSTS']);
/**
 * The results of `findNearestName`: at most one for each variable name in the environments of this
 * process.
 */
const nearestNames = new Map<string, { name: string; distance: number }>();

/**
 * The setting whose name is nearest. Results are kept, because `npm start` reads the same
 * environment for each component, and comparing every variable with every setting takes half a
 * second in all.
 */
function findNearestName(name: string): { name: string; distance: number } {
  let nearest = nearestNames.get(name);
  if (nearest !== undefined) return nearest;
  nearest = { name: '', distance: Infinity };
  for (const known of settingVariables) {
    const knownDistance = distance(name, known);
    if (knownDistance < nearest.distance) nearest = { name: known, distance: knownDistance };
  }
  nearestNames.set(name, nearest);
  return nearest;
}

function unknownVariables(environment: Environment): string[] {
  return Object.keys(environment).filter(
    (name) => !settingVariables.has(name) && !foreignVariables.has(name) && !isOfFamily(name),
  );
}

/**
 * Whether the name begins with the same two words as a longer setting, and only settings of the
 * gateway begin with its first word. Also true for a name that begins like a family of settings.
 */
function hasBeginningOfSetting(name: string): boolean {
  if (/^OAUTH_[A-Z0-9_]+_CLIENT_/.test(name)) return true;
  const [first = '', second = ''] = name.split('_');
  const beginning = `${first}_${second}_`;
  return ownFirstWords.has(first) && settingNames.some((known) => known.startsWith(beginning));
}

function isOwnWord(name: string): boolean {
  return ownFirstWords.has(name.split('_', 1)[0] ?? '');
}

/** Whether a name is so similar to that of a setting that it is probably meant as that setting. */
function isMisspelt(name: string): boolean {
  const { distance: nearestDistance } = findNearestName(name);
  const distanceMax = isOwnWord(name) ? Math.max(2, Math.floor(name.length / 4)) : 2;
  return name.length >= 6 && (nearestDistance <= distanceMax || hasBeginningOfSetting(name));
}

function findUnknownVariables(environment: Environment): string[] {
  return unknownVariables(environment)
    .filter(isMisspelt)
    .map((name) => {
      const nearest = findNearestName(name);
      const hint = nearest.distance <= 6 ? ` Did you mean ${nearest.name}?` : '';
      return `${name} is not a setting of the gateway.${hint} See .env.example.`;
    });
}

/**
 * The variables that begin like a setting and are probably meant for another program. They have no
 * effect, which is worth a warning.
 */
export function listStrayVariables(givenEnvironment: Environment): string[] {
  return unknownVariables(withoutServiceVariables(givenEnvironment)).filter(
    (name) => isOwnWord(name) && !isMisspelt(name),
  );
}
