import { encodingHint, parseServerUrl } from './server-url.ts';

/** What is wrong with the URL of NATS servers; undefined when the URL can be used. */
export function findNatsUrlProblem(text: string): string | undefined {
  if (!/^(nats|tls):\/\//.test(text)) return 'must be a nats:// or tls:// URL';
  const [address = ''] = text.split('?', 1);
  const [first = '', ...others] = address.split(',');
  // Further hosts may repeat the scheme and the credentials, of which only the first are used.
  const hosts = others.map((other) => `nats://${other.trim().replace(/^.*(:\/\/|@)/, '')}`);
  return [first.trim(), ...hosts].every((url) => Boolean(parseServerUrl(url)?.hostname))
    ? undefined
    : `must be a nats:// or tls:// URL ${encodingHint}`;
}
