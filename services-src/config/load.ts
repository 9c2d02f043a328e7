import { readFileSync } from 'node:fs';

import { distance } from 'fastest-levenshtein';

import { components } from '../contracts/vocabulary.ts';
import type { Component } from '../contracts/vocabulary.ts';
import { settings } from './settings.ts';
import type { Setting, SettingName, SettingValue } from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;
export type Config<N extends SettingName> = { readonly [K in N]: SettingValue<K> };

/** Every wrong setting at once, a sentence each. Nothing starts with it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** What a component reads, in the order it is written in its `config.ts`. */
export interface ConfigSpec<N extends SettingName> {
  readonly component: Component | 'provision' | 'start';
  readonly names: readonly N[];
}

export function defineConfig<const N extends SettingName>(
  component: ConfigSpec<N>['component'],
  names: readonly N[],
): ConfigSpec<N> {
  return { component, names };
}

/**
 * Reads a component's settings. A malformed one, a missing one, and one that looks like ours but
 * is not (a typing error would otherwise be silently without effect) are refused by name.
 */
export function loadConfig<N extends SettingName>(
  { component, names }: ConfigSpec<N>,
  environment: Environment,
): Config<N> {
  const problems = findUnknown(environment);
  const values: Partial<Record<SettingName, unknown>> = {};
  for (const name of names) {
    const found = readSetting(name, component, environment);
    if ('problem' in found) {
      problems.push(found.problem);
      continue;
    }
    const result = settings[name].schema.safeParse(found.value);
    if (result.success) values[name] = result.data;
    else problems.push(describe(name, found, result.error.issues[0]?.message ?? 'is not valid'));
  }
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return values as Config<N>;
}

type Found = { source: string; value: string | Record<string, string> | undefined };

function readSetting(
  name: SettingName,
  component: string,
  environment: Environment,
): Found | { problem: string } {
  const setting: Setting = settings[name];
  if (setting.family) return readFamily(name, setting.family, environment);
  const candidates = setting.perComponent ? [`${component.toUpperCase()}_${name}`, name] : [name];
  for (const source of candidates) {
    const value = environment[source];
    if (value !== undefined && value !== '') return { source, value };
    const file = setting.secret ? environment[`${source}_FILE`] : undefined;
    if (file === undefined) continue;
    try {
      return { source: `${source}_FILE`, value: readFileSync(file, 'utf8').trim() };
    } catch {
      return { problem: `${source}_FILE names a file that cannot be read: ${file}` };
    }
  }
  return { source: candidates[0] ?? name, value: undefined };
}

/** Every variable of a family that is set, directly or by a file. */
function readFamily(
  name: string,
  family: RegExp,
  environment: Environment,
): Found | { problem: string } {
  const value: Record<string, string> = {};
  for (const [variable, text] of Object.entries(environment)) {
    if (text === undefined || text === '') continue;
    if (family.test(variable)) value[variable] = text;
    const direct = variable.replace(/_FILE$/, '');
    if (direct === variable || !family.test(direct) || environment[direct]) continue;
    try {
      value[direct] = readFileSync(text, 'utf8').trim();
    } catch {
      return { problem: `${variable} names a file that cannot be read: ${text}` };
    }
  }
  return { source: name, value };
}

const families = Object.values<Setting>(settings).flatMap(({ family }) => family ?? []);

function isOfFamily(name: string): boolean {
  return families.some((family) => family.test(name.replace(/_FILE$/, '')));
}

function describe(name: SettingName, { source, value }: Found, message: string): string {
  const setting: Setting = settings[name];
  if (value === undefined) return `${source} is not set. ${setting.doc}`;
  const shown = setting.secret ? '' : ` (it is ${JSON.stringify(value)})`;
  return `${source} ${message.replace(/^Invalid .*$/, 'is not valid')}${shown}. ${setting.doc}`;
}

const known = new Set<string>(
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
/** First words of our settings with which names of other programs begin as well. */
const shared = new Set(['BASE', 'DATA', 'DATABASE', 'HEALTH', 'LOG', 'NATS', 'OTEL', 'REQUESTS']);
/** First words that only our settings have: what begins with one of them is meant for us. */
const ours = new Set(
  Object.keys(settings).flatMap((name) => {
    const [word = '', ...rest] = name.split('_');
    return rest.length === 0 || shared.has(word) ? [] : [word];
  }),
);
/** Names of others that look like ours. */
const others = new Set(['HOSTNAME', 'HOSTTYPE', 'NATS', 'POST', 'PORTS', 'HOSTS']);
/** What Kubernetes sets in every pod of a namespace for a service that is called as one of our words. */
const ofServices =
  /_(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const serviceAddress = /^(tcp|udp|sctp):\/\//;

function findUnknown(environment: Environment): string[] {
  return Object.keys(environment)
    .filter((name) => !known.has(name) && !others.has(name) && !isOfFamily(name))
    .filter((name) => !ofServices.test(name) && !serviceAddress.test(environment[name] ?? ''))
    .flatMap((name) => {
      const nearest = [...known].toSorted((a, b) => distance(name, a) - distance(name, b))[0] ?? '';
      const isTypo = name.length >= 6 && distance(name, nearest) <= 2;
      if (!isTypo && !ours.has(name.split('_', 1)[0] ?? '')) return [];
      const hint = distance(name, nearest) <= 6 ? ` Did you mean ${nearest}?` : '';
      return [`${name} is not a setting of the gateway.${hint} See .env.example.`];
    });
}
