/** A size in a readable unit: `812 bytes`, `3.4 KiB`, `176 KiB`, `1.2 MiB`. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  const isKiB = bytes < 1024 * 1024;
  const amount = bytes / (isKiB ? 1024 : 1024 * 1024);
  return `${amount.toFixed(amount < 10 ? 1 : 0)} ${isKiB ? 'KiB' : 'MiB'}`;
}
