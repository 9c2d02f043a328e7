import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

import { Refusal, misuse } from './refusal.ts';
import { makePrintable } from './words.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export const defaultProfile = 'default';
const profileNamePattern = /^[A-Za-z0-9][\w.-]{0,63}$/;

export function readGatewayUrlSetting(
  option: string | undefined,
  environment: Environment,
): string | undefined {
  return option ?? readSetting('ACTION_GATEWAY_URL', environment);
}

/** An agent key, from an environment variable, or from a file that holds only the key. */
export function readAgentKeySetting(environment: Environment): string | undefined {
  const key = readSecret('ACTION_GATEWAY_KEY', environment);
  if (key !== undefined && !/^aak_[0-9A-Za-z]{1,200}$/.test(key)) {
    throw new Refusal(
      'ACTION_GATEWAY_KEY holds no agent key: one is "aak_" with letters and digits, without "Bearer" and without blanks.',
    );
  }
  return key;
}

/**
 * The secret of an OAuth client that a person has registered by hand, because the authorization
 * server does not register clients itself.
 */
export function readClientSecretSetting(environment: Environment): string | undefined {
  const secret = readSecret('ACTION_GATEWAY_CLIENT_SECRET', environment);
  if (secret !== undefined && !/^(?! )[\x20-\x7e]+(?<! )$/.test(secret)) {
    throw new Refusal(
      'ACTION_GATEWAY_CLIENT_SECRET must be printable ASCII, and must not begin or end with a blank. Check what was pasted.',
    );
  }
  return secret;
}

/** The file in which `mcp login` stores the login, and from which `mcp` reads it. */
export function readCredentialFileSetting(
  option: string | undefined,
  environment: Environment,
): string {
  const givenPath = option ?? readSetting('ACTION_GATEWAY_CREDENTIAL_FILE', environment);
  return givenPath === undefined ? defaultCredentialPathOf(environment) : resolve(givenPath);
}

export function defaultCredentialPathOf(environment: Environment): string {
  return resolve(findConfigFolder(environment), 'action-gateway', 'mcp.json');
}

/**
 * The name of the profile. A profile stands for a gateway and the person who is signed in there.
 *
 * @throws Refusal if the name cannot be a file name.
 */
export function readProfileSetting(option: string | undefined, environment: Environment): string {
  const name = option ?? readSetting('ACTION_GATEWAY_PROFILE', environment) ?? defaultProfile;
  if (profileNamePattern.test(name)) return name;
  throw misuse('The name of a profile is 1 to 64 letters, digits, ".", "-" and "_".');
}

/** The file that keeps the login of a profile. */
export function profilePathOf(profile: string, environment: Environment): string {
  return resolve(findConfigFolder(environment), 'action-gateway', 'profiles', `${profile}.json`);
}

function findConfigFolder(environment: Environment): string {
  if (process.platform === 'win32') {
    return readSetting('APPDATA', environment) ?? join(homedir(), 'AppData', 'Roaming');
  }
  return readSetting('XDG_CONFIG_HOME', environment) ?? join(homedir(), '.config');
}

function readSecret(name: string, environment: Environment): string | undefined {
  const value = readSetting(name, environment);
  const file = readSetting(`${name}_FILE`, environment);
  if (value !== undefined || file === undefined) return value;
  try {
    const secret = readFileSync(file, 'utf8').trim();
    // It is only a warning, because systems that mount secrets as files let everybody there read.
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
      process.stderr.write(`${makePrintable(file)} can be read by others: run "chmod 600".\n`);
    }
    return secret;
  } catch {
    throw new Refusal(`${name}_FILE names a file that cannot be read: ${file}`);
  }
}

/** An empty variable counts as not set. */
function readSetting(name: string, environment: Environment): string | undefined {
  return environment[name] === '' ? undefined : environment[name];
}
