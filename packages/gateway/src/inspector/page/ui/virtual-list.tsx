import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'

/** Rows above and below the visible ones that are kept ready. */
const SPARE = 8
/** Rows that are remembered, so that scrolling makes only those that come into sight. */
const KEPT = 300

const KEEPING_MS = 200

/** A long list of rows of one height; only the visible ones are rendered. Going back restores its scroll position. */
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
  const [sight, setSight] = useState({ top: 0, height: 600 })
  useEffect(() => {
    const element = box.current
    if (!element) return undefined
    element.scrollTop = keptTop(label)
    let timer = 0
    const measure = () => {
      setSight({ top: element.scrollTop, height: element.clientHeight })
      timer ||= window.setTimeout(() => {
        timer = 0
        keepTop(label, element.scrollTop)
      }, KEEPING_MS)
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      clearTimeout(timer)
      observer.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [])
  const first = Math.max(0, Math.floor(sight.top / rowHeight) - SPARE)
  const made = useMemo(() => new Map<number, ComponentChildren>(), [items, rowHeight, row])
  const rowAt = (item: Item, index: number): ComponentChildren => {
    const known = made.get(index)
    if (known !== undefined) return known
    if (made.size >= KEPT) made.clear()
    const fresh = row(item, { top: `${index * rowHeight}px`, height: `${rowHeight}px` })
    made.set(index, fresh)
    return fresh
  }
  const last = Math.min(items.length, Math.ceil((sight.top + sight.height) / rowHeight) + SPARE)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section class="virtual" ref={box} tabIndex={0} aria-label={label}>
      <div class="virtual-space" style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(first, last).map((item, index) => rowAt(item, first + index))}
      </div>
    </section>
  )
}

/** Scroll positions are stored with each entry of the browser's history. */
function keptTop(label: string): number {
  return Number(Object(history.state)[label]) || 0
}

function keepTop(label: string, top: number): void {
  history.replaceState({ ...history.state, [label]: top }, '')
}
