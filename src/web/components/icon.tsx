/** Inline line icons on a 24-unit grid, drawn in the current text colour. Decorative: hidden from screen readers. */

import { classes, type Html } from '../html.ts';

const paths = {
  alert: 'M12 3.5 21.5 20h-19zM12 10v4.5M12 17.2v.1',
  arrow: 'M5 12h14M13 6l6 6-6 6',
  back: 'M19 12H5M11 6l-6 6 6 6',
  book: 'M5 4h12.500v16H6.500A1.500 1.500 0 0 1 5 18.500zM5 18.500A1.500 1.500 0 0 1 6.500 17h11',
  chart: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  chevron: 'M6 9l6 6 6-6',
  plus: 'M12 5v14M5 12h14',
  clock: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM12 7.5V12l3 2',
  close: 'M6 6l12 12M18 6 6 18',
  code: 'M8.5 7 3.5 12l5 5M15.5 7l5 5-5 5',
  comment: 'M4 5h16v11H11l-4.5 4V16H4z',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  download: 'M12 4v11M7 10.500l5 5 5-5M4.5 20h15',
  eye: 'M2.5 12c2.5-4.500 6-6.500 9.5-6.500s7 2 9.5 6.500c-2.5 4.500-6 6.500-9.5 6.500s-7-2-9.5-6.500zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
  flag: 'M6 21V4M6 4.5c4-2.5 7 2.5 12 0v9c-5 2.5-8-2.5-12 0',
  globe:
    'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM3.5 12h17M12 3.500c5.5 5 5.5 12 0 17-5.500-5-5.500-12 0-17z',
  inbox: 'M4 13l3-8h10l3 8v6H4zM4 13h5a3 3 0 0 0 6 0h5',
  info: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM12 11v5M12 7.8v.1',
  key: 'M8 11.5a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11 12.7 20 4M16 7.5l3 3',
  list: 'M8 6h12M8 12h12M8 18h12M4 6h.1M4 12h.1M4 18h.1',
  mail: 'M3.5 6h17v12.500h-17zM4 6.500l8 6.500 8-6.500',
  mask: 'M3 9c3-2 6-2 9 0 3-2 6-2 9 0-.5 6-6 9-9 5-3 4-8.5 1-9-5zM7 11.500h2.500M14.5 11.500H17',
  menu: 'M4 7h16M4 12h16M4 17h16',
  out: 'M14 4h5v16h-5M4 12h11M8 8l-4 4 4 4',
  pause: 'M9 6v12M15 6v12',
  phone:
    'M5 4h4l2 5-2.500 1.500a11 11 0 0 0 5 5L15 13l5 2v4a1.5 1.5 0 0 1-1.5 1.500A15 15 0 0 1 3.5 5.500 1.5 1.5 0 0 1 5 4z',
  place:
    'M12 21c4.5-5 6.5-8.200 6.5-11a6.5 6.5 0 0 0-13 0c0 2.800 2 6 6.5 11zM12 7.500a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z',
  person: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20.500c1-4 4-5.5 7.5-5.500s6.5 1.5 7.5 5.5',
  play: 'M8 5.500v13l10.500-6.500z',
  refresh: 'M19.5 12a7.5 7.5 0 1 1-2.2-5.3L20 9M20 4v5h-5',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.3 15.3 20.5 20.5',
  shield: 'M12 3.5 19.5 6v5.500c0 4.5-3 7.5-7.5 9-4.5-1.5-7.5-4.5-7.5-9V6zM8.5 12l2.5 2.5 4.5-5',
  sliders: 'M4 8h7M15 8h5M11 5.500h4v5h-4zM4 16h3M11 16h9M7 13.500h4v5H7z',
  sound: 'M4 9.500h3.500L12 5.500v13l-4.500-4H4zM15.5 9a4.5 4.5 0 0 1 0 6M18 6.500a8 8 0 0 1 0 11',
  tag: 'M4 4h8l8 8-8 8-8-8zM8 8h.1',
  undo: 'M8 5 4 9l4 4M4 9h10a5.5 5.5 0 0 1 0 11h-3',
} as const;

export type IconName = keyof typeof paths;

export function Icon({
  name,
  className,
}: {
  readonly name: IconName;
  readonly className?: string | undefined;
}): Html {
  return (
    <svg
      class={classes('icon', `icon-${name}`, className)}
      viewBox="0 0 24 24"
      width="24"
      height="24"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
