import { lookup } from 'node:dns/promises';

import { isHost } from '#addresses';

import { classifyAddress, parseAddress } from './address.ts';
import type { Address } from './address.ts';
import { allowsAddress, allowsHost, allowsSomeAddress } from './allow.ts';
import type { EgressAllow } from './allow.ts';
import { AddressRefused, invalidRequest, connectionRefused } from './failures.ts';
import type { OwnAddresses } from './own.ts';

/** Returns every address of a name, in the order in which to try them. */
export type HostResolver = (hostname: string) => Promise<readonly string[]>;

/** A scheme, host and port that passed all checks that need no look-up. */
export interface Target {
  readonly origin: string;
  readonly isSecure: boolean;
  /** A name in lower-case A-label form without a trailing dot, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly literalAddress: Address | undefined;
}

export interface Guard {
  /** Checks a URL as far as possible without DNS. */
  target(url: URL): Target;
  /**
   * The vetted addresses to connect to: the answer of one DNS look-up, or the literal address. If
   * one address is forbidden, the whole target is refused. Where the proxy looks names up, the
   * name itself.
   */
  vettedAddresses(target: Target): Promise<readonly string[]>;
  /** Whether one address may be called. Also called for the address that a socket connected to. */
  isReachable(target: Target, address: Address): boolean;
}

export interface GuardOptions {
  readonly allow: EgressAllow;
  readonly own: OwnAddresses;
  readonly resolve: HostResolver;
  /**
   * Whether names are looked up by the operator's proxy. Then names are judged as they are written.
   */
  readonly isResolvedByProxy?: boolean;
}

/**
 * A DNS look-up occupies a thread, for up to twenty seconds when the name servers do not answer,
 * and libuv lets look-ups use half of its threads. With the default of four threads, two such host
 * names would delay the calls to all other upstreams. libuv reads this variable when the process
 * first needs a thread; a value that the operator set is kept.
 */
process.env['UV_THREADPOOL_SIZE'] ??= '32';

export const resolveBySystem: HostResolver = async (hostname) => {
  const answers = await lookup(hostname, { all: true, order: 'verbatim' });
  return answers.map((answer) => answer.address);
};

export function createGuard({
  allow,
  own,
  resolve,
  isResolvedByProxy = false,
}: GuardOptions): Guard {
  const resolveOnce = shareConcurrent(resolve);
  // An entry without a port allows the other machines in a network, but not the containers of this
  // installation in it. So only entries with a port count for an address that the installation
  // uses.
  const networksWithPort = allow.networks.filter(({ port }) => port !== undefined);
  const allowOfNamedPorts: EgressAllow = { ...allow, networks: networksWithPort };

  function isReachable(target: Target, address: Address): boolean {
    const kind = classifyAddress(address);
    if (kind === 'never' || own.coversAddress(address, target.port)) return false;
    if (allowsHost(allow, urlHostOf(target), target.port)) return true;
    const applicableAllow = own.isHost(address) ? allowOfNamedPorts : allow;
    if (allowsAddress(applicableAllow, address, target.port)) return true;
    return target.isSecure && kind === 'public';
  }

  const isResolvedElsewhere = (target: Target) =>
    isResolvedByProxy && target.literalAddress === undefined;

  /** Whether a name may be given to the proxy: by its spelling, because its address is unknown. */
  function isNameAllowed({ host, port, isSecure }: Target): boolean {
    return allowsHost(allow, host, port) || (isSecure && !isInnerName(host));
  }

  /**
   * Looks up the installation's own host names, but only for a target whose addresses one of them
   * could share.
   */
  async function lookUpOwnNames(target: Target, addresses: readonly (Address | undefined)[]) {
    const areAllPublic = addresses.every(
      (address) => address !== undefined && classifyAddress(address) === 'public',
    );
    if (areAllPublic && !own.hasPort(target.port)) return;
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
      if (own.coversHost(target.host, target.port)) throw connectionRefused();
      // undici calls no `lookup` for a literal address, so this check comes before the connection
      // is opened.
      if (target.literalAddress !== undefined && !isReachable(target, target.literalAddress))
        throw connectionRefused();
      if (isResolvedElsewhere(target) && !isNameAllowed(target)) throw connectionRefused();
      if (isLocalName(target.host) && !loopback.some((each) => isReachable(target, each))) {
        throw connectionRefused();
      }
      const mayUsePlainHttp =
        allowsHost(allow, urlHostOf(target), target.port) || allowsSomeAddress(allow, target.port);
      if (!target.isSecure && !mayUsePlainHttp) throw connectionRefused();
      return target;
    },
    async vettedAddresses(target) {
      if (isResolvedElsewhere(target)) return [target.host];
      const addressTexts = target.literalAddress ? [target.host] : await resolveOnce(target.host);
      const addresses = addressTexts.map(parseAddress);
      await lookUpOwnNames(target, addresses);
      const areAllReachable = addresses.every(
        (address) => address !== undefined && isReachable(target, address),
      );
      if (!areAllReachable || addressTexts.length === 0) throw new AddressRefused();
      return addressTexts;
    },
  };
}

const loopback = ['127.0.0.1', '::1'].flatMap((text) => parseAddress(text) ?? []);

/** Whether a host name means this machine, whatever a resolver answers (RFC 6761 §6.3). */
function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/**
 * The ends of names that public DNS does not have, and networks use for their own machines: special
 * names (RFC 6761, RFC 6762, RFC 8375), those of RFC 6762 appendix G, and `internal`, which clouds
 * use for their metadata.
 */
const innerNames = new Set(
  'local home.arpa internal intranet private corp home lan localdomain'.split(' '),
);

/** Whether the spelling of a name suggests a machine in a private network. */
function isInnerName(host: string): boolean {
  const labels = host.split('.');
  return (
    labels.length === 1 ||
    isLocalName(host) ||
    innerNames.has(labels.slice(-1).join('.')) ||
    innerNames.has(labels.slice(-2).join('.'))
  );
}

/**
 * Parses a URL. Refuses characters that the WHATWG parser would silently repair (tabs, line feeds,
 * backslashes, spaces): the component that decided about the call may have read the same text
 * differently.
 */
export function parseUrl(text: string): URL {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const url = /[\u0000-\u0020\u007f\\]/.test(text) ? null : URL.parse(text);
  if (url === null) throw invalidRequest('The URL is not a valid absolute URL.');
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/\/[^/?#]*@/i.test(text)) {
    throw invalidRequest('The URL may not contain a user name or password.');
  }
  return url;
}

function parseTarget(url: URL): Target {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw connectionRefused();
  const isSecure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const literal = parseAddress(host);
  if (literal === undefined && !isHost(host)) throw connectionRefused();
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  if (port === 0) throw connectionRefused();
  const authority = literal?.kind() === 'ipv6' ? `[${host}]` : host;
  const origin = `${url.protocol}//${authority}${url.port === '' ? '' : `:${url.port}`}`;
  return { origin, isSecure, host, port, literalAddress: literal };
}

function urlHostOf(target: Target): string {
  return target.literalAddress?.kind() === 'ipv6' ? `[${target.host}]` : target.host;
}

/**
 * Connections that open at the same time share one look-up of a host name; connections that open
 * later look it up again.
 */
function shareConcurrent(resolve: HostResolver): HostResolver {
  const runningLookups = new Map<string, Promise<readonly string[]>>();
  return (hostname) => {
    const runningLookup = runningLookups.get(hostname);
    if (runningLookup !== undefined) return runningLookup;
    const answer = resolve(hostname).finally(() => runningLookups.delete(hostname));
    runningLookups.set(hostname, answer);
    return answer;
  };
}
