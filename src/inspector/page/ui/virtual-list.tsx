import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'

/** Rows above and below the visible ones that are kept ready. */
const SPARE = 8
/** Rows that are remembered, so that scrolling makes only those that come into sight. */
const KEPT = 300

/** A long list of rows of one height: only those in sight exist. */
export function VirtualList<Item>({
  items,
  rowHeight,
  label,
  row,
}: {
  readonly items: readonly Item[]
  readonly rowHeight: number
  readonly label: string
  readonly row: (item: Item, style: { top: string; height: string }) => ComponentChildren
}) {
  const box = useRef<HTMLElement>(null)
  const [window, setWindow] = useState({ top: 0, height: 600 })
  useEffect(() => {
    const element = box.current
    if (!element) return undefined
    const measure = () => setWindow({ top: element.scrollTop, height: element.clientHeight })
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [])
  const first = Math.max(0, Math.floor(window.top / rowHeight) - SPARE)
  const made = useMemo(() => new Map<number, ComponentChildren>(), [items, rowHeight, row])
  const rowAt = (item: Item, index: number): ComponentChildren => {
    const known = made.get(index)
    if (known !== undefined) return known
    if (made.size >= KEPT) made.clear()
    const fresh = row(item, { top: `${index * rowHeight}px`, height: `${rowHeight}px` })
    made.set(index, fresh)
    return fresh
  }
  const last = Math.min(items.length, Math.ceil((window.top + window.height) / rowHeight) + SPARE)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section class="virtual" ref={box} tabIndex={0} aria-label={label}>
      <div class="virtual-space" style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(first, last).map((item, index) => rowAt(item, first + index))}
      </div>
    </section>
  )
}
