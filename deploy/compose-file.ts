import { readFileSync } from 'node:fs';

import { parse } from 'yaml';

/**
 * The parts of a service in docker-compose.yml that this project's scripts read. Merged keys are
 * resolved.
 */
export interface ComposeService {
  readonly image?: string;
  readonly user?: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly read_only?: boolean;
  readonly restart?: string;
  readonly mem_limit?: string;
  readonly cpus?: number;
  readonly pids_limit?: number;
  readonly stop_grace_period?: string;
  readonly healthcheck?: { readonly disable?: boolean; readonly test?: readonly string[] };
  readonly ports?: readonly string[];
  readonly env_file?: readonly string[];
  readonly shm_size?: string;
  readonly scale?: string;
  readonly 'x-helm'?: HelmKeys;
}

/**
 * Information that the Kubernetes chart needs and for which compose has no key (`chart-model.ts`).
 */
interface HelmKeys {
  readonly replicas?: number;
  readonly requests?: { readonly cpu: string; readonly memory: string };
  /**
   * A Service with the port from the variable `at`. Only `callers` may connect to it, or everybody
   * if they are left out.
   */
  readonly listens?: {
    readonly name: string;
    readonly at: string;
    readonly callers?: readonly string[];
  };
  /** The label `pool` of the metric `aag.slots.used`, by which the replicas can be scaled. */
  readonly slots?: string;
  /** The port of a server; `storage` is the size of the disk for its data. */
  readonly port?: number;
  readonly storage?: string;
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

export function readComposeFile(): ComposeFile {
  const text = readFileSync(new URL('../docker-compose.yml', import.meta.url), 'utf8');
  return parse(text, { merge: true }) as ComposeFile;
}

/**
 * Replaces `${NAME}`, `${NAME:-default}`, `${NAME:+replacement}` and `$$` as docker compose does.
 * The default may contain one further variable.
 */
export function interpolate(
  value: string,
  variables: Readonly<Record<string, string | undefined>>,
): string {
  return value.replaceAll(
    /\$\$|\$\{([A-Z_]+)(?::([-+])((?:[^{}]|\$\{[^{}]*\})*))?\}/g,
    (text, name: string | undefined, operator: string | undefined, operand: string | undefined) => {
      if (name === undefined) return text.slice(1);
      const foundValue = variables[name] ?? '';
      if (operator === '+') return foundValue === '' ? '' : (operand ?? '');
      return foundValue === '' && operator === '-'
        ? interpolate(operand ?? '', variables)
        : foundValue;
    },
  );
}
