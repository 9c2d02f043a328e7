import { open, realpath, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

import { z } from 'zod';

import { Refusal } from '../refusal.ts';

export const oauthClient = z.strictObject({
  client_id: z.string().min(1).max(2_048),
  client_secret: z.string().min(1).max(2_048).optional(),
  token_endpoint_auth_method: z.enum(['none', 'client_secret_basic', 'client_secret_post']),
});
export type OAuthClient = z.infer<typeof oauthClient>;

/** A login: which gateway it is for, its tokens, and what refreshing and revoking them needs. */
const credential = z.strictObject({
  gateway: z.url(),
  resource: z.url(),
  issuer: z.url(),
  token_endpoint: z.url(),
  revocation_endpoint: z.url().optional(),
  client: oauthClient,
  access_token: z.string().min(1).max(16_384),
  refresh_token: z.string().min(1).max(16_384).optional(),
  /** Space-separated, as granted. */
  scope: z.string().max(4_096).optional(),
});
export type Credential = z.infer<typeof credential>;

/**
 * The file as it is: one credential and the clients we have registered, by issuer. They outlive
 * a logout, so that the next login is the same client and acts as the same agent.
 */
const contents = z.strictObject({
  version: z.literal(1),
  credential: credential.optional(),
  clients: z.record(z.string().max(2_048), oauthClient),
});
export type CredentialFile = z.infer<typeof contents>;

const maxBytes = 256 * 1_024;
const nobodyElse = 0o077;

/**
 * What is stored, or nothing yet.
 *
 * @throws Refusal if others may read it, or if it is not ours.
 */
export async function readCredentialFile(path: string): Promise<CredentialFile> {
  const text = await readPrivate(path);
  if (text === undefined) return { version: 1, clients: {} };
  const parsed = contents.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new Refusal(`${path} is not a credential file of action-gateway: choose another one.`);
}

/** All or nothing, whenever the process dies; only its owner can read it. Hold the file's lock. */
export async function writeCredentialFile(path: string, file: CredentialFile): Promise<void> {
  const unfinished = `${path}.new`;
  await rm(unfinished, { force: true });
  const handle = await open(unfinished, 'wx', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(file, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(unfinished, path);
  await syncFolder(dirname(path));
}

/** Its one name, whatever links lead to it: for locking and renaming. */
export async function settleCredentialPath(path: string): Promise<string> {
  // What is not there yet has no other name; what cannot be reached is refused when it is opened.
  return realpath(path).catch(() => path);
}

async function readPrivate(path: string): Promise<string | undefined> {
  let handle;
  try {
    handle = await open(path, 'r');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new Refusal(`${path} cannot be read (${code}).`, { cause: error });
  }
  try {
    const { mode, size } = await handle.stat();
    if (process.platform !== 'win32' && (mode & nobodyElse) !== 0) {
      throw new Refusal(
        `${path} can be read by others: run "chmod 600 ${path}", then log in again.`,
      );
    }
    return size > maxBytes ? '' : await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/** Makes the rename itself last; Windows does that without being asked, and cannot be. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
