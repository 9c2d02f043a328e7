/** One header line as received: repetitions, order and casing are kept. */
export type HeaderPair = [name: string, value: string];
