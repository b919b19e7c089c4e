/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_IOCTL_VM_H__
#define __TESSERA_IOCTL_VM_H__

struct drm_device;
struct drm_file;

int tessera_ioctl_vm_create(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_vm_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int tessera_ioctl_vm_bind(struct drm_device *drm, void *arg, struct drm_file *file);
int tessera_ioctl_submit_vm(struct drm_device *drm, void *arg, struct drm_file *file);

#endif /* __TESSERA_IOCTL_VM_H__ */
