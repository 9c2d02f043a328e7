import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createCertificate } from '../../services-src/egress/certificate.testing.ts';

export interface CertificateFiles extends AsyncDisposable {
  readonly key: string;
  /** The certificate, which is its own authority. */
  readonly authority: string;
}

/** Writes a new certificate for a name into a folder that the user of the embedded Postgres can enter. */
export async function writeCertificate(name: string): Promise<CertificateFiles> {
  const certificate = createCertificate(name);
  const place = await mkdtemp(join(tmpdir(), 'aag-certificate-'));
  const [key, authority] = [join(place, 'key.pem'), join(place, 'certificate.pem')];
  await writeFile(key, certificate.key, { mode: 0o600 });
  await writeFile(authority, certificate.cert);
  if (process.geteuid?.() === 0) for (const path of [place, key]) await chown(path, 65_534, 65_534);
  return { key, authority, [Symbol.asyncDispose]: () => rm(place, { recursive: true }) };
}
