const windowMs = 60_000;
/**
 * The most kinds of lines in a minute that are counted separately. When there are more, lines with
 * the same message count as one kind.
 */
const kindsMax = 100;

/** The methods of a logger that `limitRepeats` needs and returns. */
interface PlainLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface Repeats {
  fields: object;
  count: number;
}

/**
 * Limits warnings and errors to one line per kind and minute. The first line of a kind is logged.
 * Repetitions are only counted, and at the end of each minute one line gives their number in
 * `repeated`: a server whose disk is full writes the same line for each write that fails.
 */
export function limitRepeats(logger: PlainLogger): PlainLogger {
  const repeatsByKind = new Map<string, Repeats>();

  const startMinute = (kind: string, report: (repeats: Repeats) => void) => {
    const repeats: Repeats = { fields: {}, count: 0 };
    repeatsByKind.set(kind, repeats);
    const endTimer = setTimeout(() => {
      repeatsByKind.delete(kind);
      if (repeats.count === 0) return;
      report(repeats);
      startMinute(kind, report);
    }, windowMs);
    endTimer.unref();
  };
  const createLimitedLog = (level: 'warn' | 'error') => (fields: object, message: string) => {
    const exactKind = `${message} ${kindOf(fields)}`;
    const kind =
      repeatsByKind.has(exactKind) || repeatsByKind.size < kindsMax ? exactKind : message;
    const repeats = repeatsByKind.get(kind);
    if (repeats !== undefined) {
      repeats.fields = fields;
      repeats.count += 1;
      return;
    }
    logger[level](fields, message);
    startMinute(kind, ({ fields: last, count }) =>
      logger[level]({ ...last, repeated: count }, message),
    );
  };
  return {
    info: (fields, message) => logger.info(fields, message),
    warn: createLimitedLog('warn'),
    error: createLimitedLog('error'),
  };
}

/**
 * What lines of one kind have in common: their fields without numbers (times, sequences, process
 * ids), which differ from line to line.
 */
function kindOf(fields: object): string {
  return JSON.stringify(fields).replaceAll(/\d+/g, '#');
}
