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

/** A login: its gateway, its tokens, and the data for refreshing and revoking them. */
const credential = z.strictObject({
  gateway: z.url(),
  resource: z.url(),
  issuer: z.url(),
  token_endpoint: z.url(),
  revocation_endpoint: z.url().optional(),
  client: oauthClient,
  access_token: z.string().min(1).max(16_384),
  refresh_token: z.string().min(1).max(16_384).optional(),
  /** The scopes that the server granted, separated by spaces. */
  scope: z.string().max(4_096).optional(),
});
export type Credential = z.infer<typeof credential>;

/**
 * The content of the file: one credential, and the OAuth clients that this program has registered,
 * each under its issuer. The clients are kept after a logout, so that the next login uses the same
 * client and acts as the same agent.
 */
const credentialFile = z.strictObject({
  version: z.literal(1),
  credential: credential.optional(),
  clients: z.record(z.string().max(2_048), oauthClient),
});
export type CredentialFile = z.infer<typeof credentialFile>;

const fileBytesMax = 256 * 1_024;
const otherUsersBits = 0o077;

/**
 * Reads the file. A missing file is read as empty.
 *
 * @throws Refusal if other users may read the file, or if another user owns it.
 */
export async function readCredentialFile(path: string): Promise<CredentialFile> {
  const text = await readPrivateFile(path);
  if (text === undefined) return { version: 1, clients: {} };
  const parseResult = credentialFile.safeParse(parseJson(text));
  if (parseResult.success) return parseResult.data;
  throw new Refusal(`${path} is not a credential file of action-gateway: choose another one.`);
}

/** Writes the file atomically. Only its owner can read it. The caller must hold the file's lock. */
export async function writeCredentialFile(path: string, file: CredentialFile): Promise<void> {
  const temporaryPath = `${path}.new`;
  await rm(temporaryPath, { force: true });
  const handle = await open(temporaryPath, 'wx', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(file, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporaryPath, path);
  await syncFolder(dirname(path));
}

/**
 * The real path of the file. Locking and renaming need it when the given path is a symbolic link.
 */
export async function settleCredentialPath(path: string): Promise<string> {
  // A file that does not exist yet cannot be a link. A file that cannot be reached is refused
  // later, when it is opened.
  return realpath(path).catch(() => path);
}

async function readPrivateFile(path: string): Promise<string | undefined> {
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
    if (process.platform !== 'win32' && (mode & otherUsersBits) !== 0) {
      throw new Refusal(
        `${path} can be read by others: run "chmod 600 ${path}", then log in again.`,
      );
    }
    return size > fileBytesMax ? '' : await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/**
 * Makes sure that the rename is still there after a power failure. Windows ensures that by itself
 * and does not allow syncing a folder.
 */
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
