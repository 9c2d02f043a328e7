import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

import { Refusal } from './refusal.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export function gatewayUrlSetting(
  option: string | undefined,
  environment: Environment,
): string | undefined {
  return option ?? readSetting('ACTION_GATEWAY_URL', environment);
}

/** An agent key. A variable, or a file that holds nothing else. */
export function agentKeySetting(environment: Environment): string | undefined {
  const key = readSecret('ACTION_GATEWAY_KEY', environment);
  if (key !== undefined && !/^aak_[0-9A-Za-z]{1,200}$/.test(key)) {
    throw new Refusal('ACTION_GATEWAY_KEY holds no agent key: one starts with "aak_".');
  }
  return key;
}

/** Of a client that was registered beforehand, for authorization servers that want one. */
export function clientSecretSetting(environment: Environment): string | undefined {
  return readSecret('ACTION_GATEWAY_CLIENT_SECRET', environment);
}

/** Where `mcp login` keeps what `mcp` uses. */
export function credentialFileSetting(
  option: string | undefined,
  environment: Environment,
): string {
  const given = option ?? readSetting('ACTION_GATEWAY_CREDENTIAL_FILE', environment);
  return given === undefined ? usualCredentialFile(environment) : resolve(given);
}

export function usualCredentialFile(environment: Environment): string {
  return resolve(configFolder(environment), 'action-gateway', 'mcp.json');
}

function configFolder(environment: Environment): string {
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
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new Refusal(`${name}_FILE names a file that cannot be read: ${file}`);
  }
}

/** An empty variable is one that is not set. */
function readSetting(name: string, environment: Environment): string | undefined {
  return environment[name] === '' ? undefined : environment[name];
}
