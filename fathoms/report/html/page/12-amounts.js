// Formats the figures that a page computes by itself, as `fathoms.text.amounts` does: a test compares the two. All
// other figures come as texts.

/** Format a value by its unit: a duration, a cost, a score with two decimals, or a count. */
function measured(value, unit = 'share') {
  if (!known(value)) return 'n/a';
  if (unit === 'seconds') return duration(value);
  if (unit === 'US dollars') return dollars(value);
  return Math.abs(value) >= 100 ? Number(fixed(value, 0)).toLocaleString('en') : fixed(value, 2);
}

/** Round to some decimals; of exact halves to the even digit, as Python does. There is no -0.00. */
function fixed(value, digits) {
  const size = Math.abs(value);
  let text = size.toFixed(digits);
  if ((size * 2 ** (digits + 1)) % 2 === 1) {
    // in binary, only these values are exactly halfway between two others, and `toFixed` rounds them up
    const below = Math.floor(size * 10 ** digits);
    text = ((below + (below % 2)) / 10 ** digits).toFixed(digits);
  }
  return value < 0 && Number(text) !== 0 ? `-${text}` : text;
}

/** A share as a percentage, such as `88 %`. */
function percent(share) {
  return `${fixed(100 * share, 0)} %`;
}

function duration(seconds) {
  if (seconds > 0 && seconds < 0.001) return '<1 ms';
  if (seconds > 0 && seconds < 0.9995) return `${fixed(1000 * seconds, 0)} ms`;
  if (seconds < 9.95) return `${Number(fixed(seconds, 1))} s`;
  const whole = Number(fixed(seconds, 0));
  if (whole < 60) return `${whole} s`;
  const twoDigits = (number) => String(number % 60).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)}:${twoDigits(whole)}`;
  const minutes = Number(fixed(seconds / 60, 0));
  return `${Math.floor(minutes / 60)} h ${twoDigits(minutes)} min`;
}

/** Two decimals, or two significant digits below ten cents. */
function dollars(cost) {
  return `$${fixed(cost, cost > 0 && cost < 0.1 ? 1 - Math.floor(Math.log10(cost)) : 2)}`;
}
