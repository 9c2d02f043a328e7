import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Makes these host names resolve to an address on this machine, as lines in the hosts file would.
 * Disposing the result ends this. Other names are looked up as usual.
 */
export function nameHosts(names: Iterable<string>, address: string): Disposable {
  const knownNames = new Set(names);
  const { lookup } = dns.promises;
  const answer = (name: string, ...rest: unknown[]) =>
    knownNames.has(name)
      ? Promise.resolve([{ address, family: 4 }])
      : (lookup as (name: string, ...rest: unknown[]) => Promise<unknown>)(name, ...rest);
  setLookup(answer as typeof lookup);
  return {
    [Symbol.dispose]() {
      setLookup(lookup);
    },
  };
}

function setLookup(lookup: typeof dns.promises.lookup): void {
  dns.promises.lookup = lookup;
  syncBuiltinESMExports();
}
