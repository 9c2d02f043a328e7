import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Gives these host names an address on this machine, as lines of its hosts file would, until it is
 * disposed. Other names are looked up as before.
 */
export function nameHosts(names: Iterable<string>, address: string): Disposable {
  const known = new Set(names);
  const { lookup } = dns.promises;
  const answer = (name: string, ...rest: unknown[]) =>
    known.has(name)
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
