import { isIP } from 'node:net';

/** Errors of TLS that mean that the authority of the certificate is not trusted. */
const untrustedCodes = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
]);

/**
 * Tells the operator what to do when TLS to Postgres or NATS failed; undefined for every other
 * failure. `setting` is the setting that holds the server's URL.
 */
export function describeTlsFailure(error: unknown, setting: string): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error ? String(error.code) : '';
  if (untrustedCodes.has(code)) {
    return 'Its certificate is of an authority that is not trusted: name the PEM file of that authority in SERVERS_CA_FILE.';
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `Its certificate is for another name: write a name of the certificate into ${setting}.`;
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return 'Renew its certificate, or correct the clock.';
  // Both Postgres drivers and the NATS client use these words.
  if (/does not support (SSL connections|'tls')/.test(error.message)) {
    return `Turn TLS on at the server. ${setting} or SERVERS_CA_FILE asks for it.`;
  }
  return error.cause === undefined ? undefined : describeTlsFailure(error.cause, setting);
}

/** Whether data for the host never leaves this machine. */
export function isLoopbackHost(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(address) === 4) return address.startsWith('127.');
  return address === '::1' || address === 'localhost';
}
