import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createCertificate } from '../../services-src/egress/certificate.testing.ts';

export interface CertificateFiles extends AsyncDisposable {
  readonly key: string;
  /** The self-signed certificate, which is also the certificate of its CA. */
  readonly authority: string;
}

/**
 * Creates a certificate for a host name. Writes it to a folder that the user of the embedded
 * Postgres can read.
 */
export async function writeCertificate(name: string): Promise<CertificateFiles> {
  const certificate = createCertificate(name);
  const folder = await mkdtemp(join(tmpdir(), 'aag-certificate-'));
  const [key, authority] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  await writeFile(key, certificate.key, { mode: 0o600 });
  await writeFile(authority, certificate.cert);
  if (process.geteuid?.() === 0)
    for (const path of [folder, key]) await chown(path, 65_534, 65_534);
  return { key, authority, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}
