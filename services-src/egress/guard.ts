import { lookup } from 'node:dns/promises';

import { isHost } from '#addresses';

import { classifyAddress, parseAddress } from './address.ts';
import type { Address } from './address.ts';
import { allowsAddress, allowsHost, allowsSomeAddress } from './allow.ts';
import type { EgressAllow } from './allow.ts';
import { AddressRefused, invalid, refused } from './failures.ts';
import type { OwnAddresses } from './own.ts';

/** Every address of a name, in the order to try them. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A scheme, host and port that passed all checks that need no look-up. */
export interface Target {
  readonly origin: string;
  readonly secure: boolean;
  /** A name in lower-case A-label form without trailing dot, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly literal: Address | undefined;
}

export interface Guard {
  /** Checks a URL as far as that is possible without asking DNS. */
  target(url: URL): Target;
  /**
   * The addresses to connect to, all vetted: what DNS says, asked once, or the one that is written.
   * One bad answer refuses them all.
   */
  vettedAddresses(target: Target): Promise<readonly string[]>;
  /** The rule for one address. Asked again about the address a socket really reached. */
  isReachable(target: Target, address: Address): boolean;
}

export interface GuardOptions {
  readonly allow: EgressAllow;
  readonly own: OwnAddresses;
  readonly resolve: Resolve;
}

/**
 * A look-up holds a thread, for up to twenty seconds where the servers of a name are silent, and libuv
 * gives look-ups half of its threads. Of its own four, two dead names would hold up every other
 * upstream. It reads this when the process first needs a thread; the operator's own value wins.
 */
process.env['UV_THREADPOOL_SIZE'] ??= '32';

export const systemResolve: Resolve = async (hostname) => {
  const answers = await lookup(hostname, { all: true, order: 'verbatim' });
  return answers.map((answer) => answer.address);
};

export function createGuard({ allow, own, resolve }: GuardOptions): Guard {
  const resolveOnce = shareConcurrent(resolve);
  // A network that is opened as a whole holds other machines than the installation's own.
  const networks = allow.networks.filter(({ port }) => port !== undefined);
  const namedPorts: EgressAllow = { ...allow, networks };

  function isReachable(target: Target, address: Address): boolean {
    const kind = classifyAddress(address);
    if (kind === 'never' || own.coversAddress(address, target.port)) return false;
    if (allowsHost(allow, bracketed(target), target.port)) return true;
    const opened = own.isHost(address) ? namedPorts : allow;
    if (allowsAddress(opened, address, target.port)) return true;
    return target.secure && kind === 'public';
  }

  /** Where our own names lead matters only for addresses that one of them can have. */
  async function lookUpOwn(target: Target, addresses: readonly (Address | undefined)[]) {
    const isAnybodys = addresses.every(
      (address) => address !== undefined && classifyAddress(address) === 'public',
    );
    if (isAnybodys && !own.hasPort(target.port)) return;
    try {
      await own.lookUp(resolveOnce);
    } catch (cause) {
      throw new AddressRefused(undefined, { cause });
    }
  }

  return {
    isReachable,
    target(url) {
      const target = parseTarget(url);
      if (own.coversHost(target.host, target.port)) throw refused();
      // undici never calls `lookup` for a literal address, so this is its only check before connecting.
      if (target.literal !== undefined && !isReachable(target, target.literal)) throw refused();
      if (isLocalName(target.host) && !loopback.some((each) => isReachable(target, each))) {
        throw refused();
      }
      const mayBePlain =
        allowsHost(allow, bracketed(target), target.port) || allowsSomeAddress(allow, target.port);
      if (!target.secure && !mayBePlain) throw refused();
      return target;
    },
    async vettedAddresses(target) {
      const texts = target.literal ? [target.host] : await resolveOnce(target.host);
      const addresses = texts.map(parseAddress);
      await lookUpOwn(target, addresses);
      const reachable = addresses.every(
        (address) => address !== undefined && isReachable(target, address),
      );
      if (!reachable || texts.length === 0) throw new AddressRefused();
      return texts;
    },
  };
}

const loopback = ['127.0.0.1', '::1'].flatMap((text) => parseAddress(text) ?? []);

/** Names that mean this machine, whatever a resolver says (RFC 6761 §6.3). */
function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/**
 * Parses a URL text. What the WHATWG parser would silently repair (tabs, line feeds, backslashes,
 * spaces) is refused: somebody else may have read the same text differently when deciding.
 */
export function parseUrl(text: string): URL {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const url = /[\u0000-\u0020\u007f\\]/.test(text) ? null : URL.parse(text);
  if (url === null) throw invalid('The URL is not a valid absolute URL.');
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/\/[^/?#]*@/i.test(text)) {
    throw invalid('The URL may not contain a user name or password.');
  }
  return url;
}

function parseTarget(url: URL): Target {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refused();
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const literal = parseAddress(host);
  if (literal === undefined && !isHost(host)) throw refused();
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  if (port === 0) throw refused();
  const authority = literal?.kind() === 'ipv6' ? `[${host}]` : host;
  const origin = `${url.protocol}//${authority}${url.port === '' ? '' : `:${url.port}`}`;
  return { origin, secure, host, port, literal };
}

function bracketed(target: Target): string {
  return target.literal?.kind() === 'ipv6' ? `[${target.host}]` : target.host;
}

/** Many connections that open at once ask for the same name; they share the answer, nobody later does. */
function shareConcurrent(resolve: Resolve): Resolve {
  const running = new Map<string, Promise<readonly string[]>>();
  return (hostname) => {
    const known = running.get(hostname);
    if (known !== undefined) return known;
    const answer = resolve(hostname).finally(() => running.delete(hostname));
    running.set(hostname, answer);
    return answer;
  };
}
