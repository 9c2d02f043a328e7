import { encodingHint, parseServerUrl } from './server-url.ts';

/** What is wrong with the URL of NATS servers; undefined when the URL can be used. */
export function findNatsUrlProblem(text: string): string | undefined {
  if (!/^(nats|tls):\/\//.test(text)) return 'must be a nats:// or tls:// URL';
  const [address = ''] = text.split('?', 1);
  return natsServersOf(address).every((url) => Boolean(parseServerUrl(url)?.hostname))
    ? undefined
    : `must be a nats:// or tls:// URL ${encodingHint}`;
}

/**
 * The URL of each server in the setting NATS_URL, without its parameters. Only the first one has
 * credentials, which further hosts may repeat: the client would take digits of a password for the port.
 */
export function natsServersOf(address: string): [string, ...string[]] {
  const [first = '', ...others] = address.split(',');
  const hosts = others.map((other) => other.trim().replace(/^.*(:\/\/|@)/, ''));
  return [first.trim(), ...hosts.map((host) => `nats://${host}`)];
}
