/**
 * The first `maxChars` characters of a value as JSON. The rest is never read, so a huge or deep value costs no more
 * than a small one.
 */
export function showJson(value: unknown, maxChars: number): string {
  let text = ''
  write(value)
  return text.slice(0, maxChars)

  function write(part: unknown): void {
    if (text.length >= maxChars) return
    if (typeof part === 'string') text += JSON.stringify(part.slice(0, maxChars))
    else if (Array.isArray(part)) writeAll('[', part, ']', write)
    else if (typeof part === 'object' && part !== null) writeObject(part)
    else text += JSON.stringify(part) ?? String(part)
  }

  function writeObject(record: object): void {
    const keys = Object.keys(record)
    writeAll('{', keys, '}', (key) => {
      text += `${JSON.stringify(key.slice(0, maxChars))}:`
      write((record as Record<string, unknown>)[key])
    })
  }

  function writeAll<Item>(
    open: string,
    items: readonly Item[],
    close: string,
    writeItem: (item: Item) => void,
  ): void {
    text += open
    for (const [index, item] of items.entries()) {
      if (text.length >= maxChars) return
      if (index > 0) text += ','
      writeItem(item)
    }
    text += close
  }
}
